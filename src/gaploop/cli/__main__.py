"""`python -m gaploop.cli`: the command without its script."""

import sys

from gaploop.cli import main

if __name__ == "__main__":
    sys.exit(main())
