"""The conformance kit of fields: what the built-in ones pass, and yours should."""

import inspect
from pathlib import Path

from gaploop.core.protocols import Field
from gaploop.store.datasets import read_dataset
from gaploop.store.files import seal


def check_field(field: Field, policy: Path, work: Path, *, trials: int = 2, seed: int = 0) -> None:
    """Raises AssertionError naming the first promise that `field` breaks.

    A field leaves one complete LeRobot v3 folder of judged attempts, nothing
    beside it, and does not run again into a folder that holds its run.

    Args:
      policy: what the field is given to run.
      work: a folder to work in; made if it is not there.
    """
    assert isinstance(field, Field), "has no method collect(policy, trials, seed, out)"
    names = list(inspect.signature(field.collect).parameters)
    assert names[:4] == ["policy", "trials", "seed", "out"], f"collect takes {names}"
    work.mkdir(parents=True, exist_ok=True)
    before = set(work.iterdir())
    out = work / "collected"
    field.collect(policy, trials, seed, out)
    left = set(work.iterdir()) - before
    assert left == {out}, f"left more than its folder: {sorted(p.name for p in left - {out})}"
    episodes = list(read_dataset(out))
    assert episodes, "left no episode"
    for episode in episodes:
        assert "action" in episode.signals, f"{episode.source} has no `action`"
        outcome = episode.fact("outcome")
        judged = isinstance(outcome, dict) and "success" in outcome
        assert judged, f"{episode.source} has no fact `outcome` with a `success`"
        foreign = [k for k in episode.signals if k.startswith("truth.")]
        assert not foreign, f"{episode.source} shows the truth: {foreign}"
    content = seal(out)
    field.collect(policy, trials, seed, out)
    assert seal(out) == content, "ran again into a folder that held its run"
