"""Where the cause is the run-time path, the loop mends it and trains nothing."""

from pathlib import Path

import pytest

from gaploop import loop
from gaploop.config import LoopConfig, load
from gaploop.core import Curation
from gaploop.policies.mend import read_mends
from gaploop.store import Workcell

pytest.importorskip("torch", reason="round 0 trains a policy")
SMALL = Path(__file__).parent / "data" / "small.toml"


@pytest.mark.slow
def test_a_contract_fault_is_mended_and_not_trained_on(tmp_path: Path) -> None:
    text = 'field = "lab-a:0+mm"\n' + SMALL.read_text()
    Workcell.create(tmp_path / "cell", text).close()
    config = load(tmp_path / "cell" / "gaploop.toml", LoopConfig)
    with Workcell.open(tmp_path / "cell") as cell, cell.lock():
        for number in (0, 1):
            loop.advance(cell, config, number)
        refs = cell.ledger.refs()
        curation = cell.objects.get(refs["curation@r1"], Curation)
        assert [p.cause for p in curation.prescriptions] == ["contract"]
        (mend,) = curation.mends
        assert mend.scale == pytest.approx((1e-3, 1e-3))
        assert not refs.get("data@r1")
        assert not refs.get("training@r1")
        before, after = (cell.objects.tree(refs[name]) for name in ("policy@r0", "candidate@r1"))
        assert refs["candidate@r1"] != refs["policy@r0"]
        assert read_mends(before) == ()
        assert read_mends(after) == curation.mends
        for name in ("policy.onnx", "policy.json", "golden.npz"):
            assert (before / name).read_bytes() == (after / name).read_bytes()
