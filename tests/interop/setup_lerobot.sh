#!/bin/sh
# Makes the environment in which test_lerobot.py opens our datasets with the real lerobot.
# Usage: setup_lerobot.sh FOLDER [PYTHON3.12]. Some 2 GB of downloads, 5 GB on disk.
# The folder appears only once it is complete; a second call does nothing.
set -eu
folder=$1
python=${2:-python3.12}
here=$(cd "$(dirname "$0")" && pwd)
[ -e "$folder/ready" ] && exit 0
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --no-deps -r "$here/lerobot.txt"
# an import is the check that nothing is missing
HF_HUB_OFFLINE=1 "$folder/bin/python" -c "import lerobot.datasets.lerobot_dataset"
touch "$folder/ready"
