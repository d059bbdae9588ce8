from itertools import pairwise

import numpy as np
import onnxruntime as ort
import pytest

from gaploop.train.export import mlp_graph


def parts(depth: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    sizes = [6, *[16] * depth, 8]
    layers = [
        (rng.normal(size=(a, b)).astype("f4") / a**0.5, rng.normal(size=b).astype("f4"))
        for a, b in pairwise(sizes)
    ]
    return {
        "shift": rng.normal(size=6).astype("f4"), "mix": rng.normal(size=(6, 6)).astype("f4"),
        "clip": 1.5, "layers": layers, "out_scale": np.array([2.0, 0.1], "f4"),
        "out_shift": np.array([-1.0, 5.0], "f4"), "low": np.array([-4.0, 4.95], "f4"),
        "high": np.array([1.0, 5.05], "f4"), "chunk": 4,
    }  # fmt: skip


def by_hand(x, shift, mix, clip, layers, out_scale, out_shift, low, high, chunk):
    h = np.clip((x.astype(float) - shift) @ mix, -clip, clip)
    for i, (w, b) in enumerate(layers):
        y = h @ w + b
        if i == len(layers) - 1:
            h = y
        else:
            y = y / (1 + np.exp(-y))
            h = h + y if i else y
    return np.clip(h.reshape(len(x), chunk, -1) * out_scale + out_shift, low, high)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_graph_computes_the_formula(depth: int):
    x = np.random.default_rng(1).normal(size=(50, 6)).astype("f4")
    p = parts(depth)
    (y,) = ort.InferenceSession(mlp_graph(**p)).run(None, {"observation": x})
    expected = by_hand(x, **p)
    np.testing.assert_allclose(y, expected, atol=2e-5)
    for bound in (p["low"], p["high"]):
        assert (expected == bound).any()
    assert ((x - p["shift"]) @ p["mix"] > p["clip"]).any()


def test_equal_weights_are_equal_bytes():
    assert mlp_graph(**parts(3)) == mlp_graph(**parts(3))
    assert mlp_graph(**parts(3)) != mlp_graph(**parts(3, seed=1))


def test_nothing_of_this_machine_is_in_the_file():
    import onnx

    model = onnx.load_from_string(mlp_graph(**parts(3)))
    assert not model.metadata_props
    assert not model.doc_string
    assert all(not node.doc_string and not node.metadata_props for node in model.graph.node)
