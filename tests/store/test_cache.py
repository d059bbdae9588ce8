import sys
from pathlib import Path

import pytest

from gaploop.core import Prior, UsageError
from gaploop.store import cache


def test_versions_are_told_without_importing() -> None:
    assert set(cache.environment()) == {"mujoco", "numpy", "torch"}
    assert cache.environment()["numpy"] == sys.modules["numpy"].__version__


def test_a_stage_is_versioned_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "stage_under_test"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "deep" / "__init__.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    def now() -> str:
        cache.source_digest.cache_clear()
        return cache.source_digest("stage_under_test:round-2")

    before = now()
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "deep.pyc").write_text("compiled")
    assert now() == before
    (package / "table.toml").write_text("decides = 1")
    assert now() != before
    (package / "deep" / "__init__.py").write_text("x = 2\n")
    changed = now()
    assert changed != before
    (package / "deep" / "more.py").write_text("")
    assert now() not in (before, changed)
    cache.source_digest.cache_clear()


def test_stage_names_are_packages_of_gaploop() -> None:
    assert cache.source_digest("store") == cache.source_digest("gaploop.store")
    assert cache.source_digest("store") != cache.source_digest("core")
    with pytest.raises(UsageError, match="no source"):
        cache.source_digest("nothing-like-it")


def test_configurations_are_text_in_one_form() -> None:
    one = cache.canonical_config({"b": Prior(low=0.0, high=1.0), "a": (1, 2)})
    assert one == cache.canonical_config({"a": [1, 2], "b": Prior(low=0.0, high=1.0)})
    assert one != cache.canonical_config({"a": [1, 2], "b": Prior(low=0.0, high=2.0)})
