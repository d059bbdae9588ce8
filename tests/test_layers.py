"""Who may import whom: the layers of the house, read from the source's import statements."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "gaploop"

GROUND = {"core"}
FLOOR = {
    "store", "run", "stats", "signals", "robots", "tasks", "sim", "policies", "infer",
}  # fmt: skip
STAGES = {
    "ingest", "calibrate", "diagnose", "reproduce", "curate", "generate", "train", "evaluate",
    "release",
}  # fmt: skip
OUTSIDE = {"field"}
ROOF = {"loop", "wiring", "mixture", "turn", "studies", "cli", "config"}
EVERYTHING = GROUND | FLOOR | STAGES | OUTSIDE | ROOF

ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "store": GROUND,
    "run": GROUND,
    "stats": GROUND,
    "signals": GROUND,
    "robots": GROUND,
    "tasks": GROUND | {"robots"},
    "sim": GROUND,
    "policies": GROUND | {"sim", "stats", "signals"},
    "infer": GROUND | {"sim", "stats", "signals"},
    "field": GROUND | FLOOR,
    "view": GROUND | {"store", "stats"},
    "testing": EVERYTHING | {"view"},
    "loop": EVERYTHING - {"cli"},
    "wiring": EVERYTHING - {"cli", "loop"},
    "mixture": GROUND | FLOOR | {"turn", "config"},
    "turn": EVERYTHING - {"cli", "loop", "wiring", "mixture"},
    "config": GROUND | FLOOR | STAGES | OUTSIDE,
    "studies": EVERYTHING - {"cli"},
    "cli": EVERYTHING | {"view"},
    **dict.fromkeys(STAGES, GROUND | FLOOR),
}
"""Part of the house to the parts it may import, itself apart."""


def imports(text: str, module: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of each import in the source of `module`, nested ones included.

    `from gaploop import x` counts as `gaploop.x`, a relative import as what it names.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                around = module.split(".")[: -node.level]
                base = ".".join([*around, *filter(None, [base])])
            if base == "gaploop":
                yield from ((node.lineno, f"gaploop.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, base


def module_name(path: Path, source: Path = SOURCE) -> str:
    parts = path.relative_to(source.parent).with_suffix("").parts
    # a package's own relative imports start inside it, so `__init__` keeps its place
    return ".".join(parts)


def part(module: str) -> str:
    """The room a dotted name belongs to; empty for gaploop itself and other packages."""
    names = module.split(".")
    inside = names[0] == "gaploop" and len(names) > 1 and not names[1].startswith("__")
    return names[1] if inside else ""


def crossings(path: Path, source: Path = SOURCE) -> list[str]:
    """Imports of one file that its layer does not allow."""
    module = module_name(path, source)
    room = part(module)
    found = []
    for line, name in imports(path.read_text(encoding="utf-8"), module):
        other = part(name)
        if other and other != room and other not in ALLOWED.get(room, set()):
            found.append(f"{path.name}:{line} {room} imports {name}")
    return found


def files(room: str) -> list[Path]:
    single = SOURCE / f"{room}.py"
    return [single] if single.exists() else sorted((SOURCE / room).rglob("*.py"))


def rooms() -> list[str]:
    found = {p.stem for p in SOURCE.glob("*.py")} | {
        p.name for p in SOURCE.iterdir() if p.is_dir() and any(p.rglob("*.py"))
    }
    return sorted(found - {"__init__", "__main__"})


def test_every_room_has_its_place() -> None:
    unplaced = set(rooms()) - set(ALLOWED)
    assert not unplaced, f"say in ALLOWED what {sorted(unplaced)} may import"


@pytest.mark.parametrize("room", rooms())
def test_imports_go_downwards(room: str) -> None:
    found = [c for path in files(room) for c in crossings(path)]
    assert not found, "\n".join(found)


def test_core_imports_only_the_standard_library_and_numpy() -> None:
    known = set(sys.stdlib_module_names) | {"numpy", "gaploop"}
    for path in files("core"):
        for line, name in imports(path.read_text(), module_name(path)):
            assert name.split(".")[0] in known, f"{path.name}:{line} imports {name}"


def test_only_train_imports_torch() -> None:
    for path in SOURCE.rglob("*.py"):
        # templates are the user's own files, not imported
        if "train" in path.relative_to(SOURCE).parts:
            continue
        for line, name in imports(path.read_text(), module_name(path)):
            assert name.split(".")[0] not in {"torch", "onnxscript"}, f"{path}:{line} {name}"


def test_only_sim_and_the_models_import_mujoco() -> None:
    for room in sorted(EVERYTHING - {"sim", "robots", "tasks"}):
        for path in files(room):
            for line, name in imports(path.read_text(), module_name(path)):
                assert name.split(".")[0] != "mujoco", f"{path}:{line} {name}"


def test_nothing_pickles() -> None:
    for path in SOURCE.rglob("*.py"):
        for line, name in imports(path.read_text(), module_name(path)):
            assert name.split(".")[0] not in {"pickle", "dill", "joblib", "cloudpickle"}, (
                f"{path}:{line} {name}"
            )


def test_import_stays_light() -> None:
    code = (
        "import sys, gaploop, gaploop.core, gaploop.stats, gaploop.signals, gaploop.run;"
        "print(*sorted({'torch', 'ray', 'duckdb', 'rerun', 'mujoco', 'cma', 'onnxruntime',"
        "'scipy.stats', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("room", "text", "caught"),
    [
        ("train", "import gaploop.evaluate", True),
        ("train", "from gaploop.evaluate.score import score", True),
        ("train", "from gaploop import evaluate", True),
        ("train", "from ..evaluate import score", True),
        ("train", "def f():\n    from gaploop.evaluate import score", True),
        ("train", "from . import net\nfrom gaploop.store import datasets\nimport torch", False),
        ("sim", "from gaploop.tasks.peg import Peg", True),
        ("core", "from gaploop.stats import wilson", True),
        ("loop", "from gaploop.view import render", True),
        ("evaluate", "from gaploop.testing import faults", True),
        ("stats", "from gaploop.core.errors import UsageError", False),
    ],
)
def test_the_check_itself(tmp_path: Path, room: str, text: str, caught: bool) -> None:
    source = tmp_path / "gaploop"
    path = source / room / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert bool(crossings(path, source)) == caught
