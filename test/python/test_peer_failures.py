"""Models that other converters get wrong, and synthetic reductions of those failures: all must come out right here.

The labels are those of docs/benchmarks.md: O for onnxconverter-common, M for ModelOpt AutoCast, B for both.
"""
import numpy as np
import onnx
import pytest
from onnx import helper

import corpus
import flows
from small import F32, NARROW, close, exact, floats, identity, model, nodes
from test_real_models import known_overflow, tolerance

both = pytest.mark.parametrize("dtype", ["f16", "bf16"])

#: label -> (models of utils/models.tsv, what goes wrong elsewhere).
REAL = {
    "O2": (("onnx/light_densenet121", "onnx/light_squeezenet", "onnx/light_shufflenet", "qonnx/mnist-conv", "qonnx/nn_resize"),
           "an initializer listed as an input is made half, its twin in the inputs is not"),
    "O3": (("basic-pitch/nmp",), "an output that is also read inside: inner readers get the float32 one"),
    "O4": (("silero-vad/silero_vad", "silero-vad/silero_vad_op18_ifless"), "an If body captures a graph input that stays float32"),
    "O5": (("piper-tts/nakdimon",), "what a Loop body captures comes after the Loop"),
    "O7": (("qonnx/nn_resize-quant", "qonnx/subpixel-quant", "qonnx/qonnx_act_weight_fp8"), "inputs of custom ops are made half"),
    "M1": (("qonnx/mnist-conv", "onnx/light_squeezenet"), "a valid model of IR version 3 is called invalid"),
    "M2": (("qonnx/nn_resize",), "initializers counted as public inputs"),
    "M4": (("silero-vad/silero_vad_16k_op15", "silero-vad/silero_vad"), "a scalar input, an input without rank"),
    "M5": (("silero-vad/silero_vad_half", "silero-vad/silero_vad_16k_op15"), "bodies looked up by the identity of a wrapper"),
    "M6": (("piper-tts/nakdimon",), "a Loop body captures a tensor that inference did not cover"),
    "M9": (("qonnx/nn_resize-quant", "qonnx/subpixel-quant", "efficientword-net/slim_qint8"), "any custom op needs TensorRT"),
    "B1": (("basic-pitch/nmp",), "Log(x*x + 1e-10): the guard and the square vanish in half"),
    "B2": (("speechmos/Run_1668423760_Stage_0",), "a half GRU of opset 9; ONNX Runtime itself dies at full optimisation"),
    "B4": (("rapidocr/PP-OCRv6_rec_small", "rapidocr/PP-OCRv6_det_small"), "8 bits of mantissa through long chains"),
}
_cases = {case.name: (case, reason) for case, reason in corpus.real_models()}


def _parameters():
    for label, (names, what) in REAL.items():
        for name in names:
            case, reason = _cases[name]
            yield pytest.param(case, what, id=f"{label}-{name}", marks=[pytest.mark.skip(reason=reason)] if reason else [])


def _work(item, pool):
    case, dtype = item.callspec.params["case"], item.callspec.params["dtype"]
    return flows.convert(case, dtype, pool, tolerance(case.name, dtype))


@pytest.mark.job.with_args(_work)
@pytest.mark.parametrize("case, what", list(_parameters()))
@both
def test_real(case, what, dtype, ahead, request):
    verdict = ahead.result(request.node)
    known_overflow(case, dtype, verdict)
    assert not verdict["problems"], f"{what}:\n" + "\n".join(verdict["problems"])
    if verdict["source"]["heavy"]:
        assert verdict["narrow"], "nothing became narrow"


# O3, reduced.
@both
def test_output_read_inside_by_both_precisions(lower, dtype):
    result = lower(model("g (float[2,2] X) => (float[2,2] M, float[2,2] Y) { M = MatMul(X, I) e = Exp(M) Y = MatMul(e, I) }", {"I": identity(2)}), dtype)
    exact(result.run(X=floats([[0, 1], [2, 3]]))["M"], [[0, 1], [2, 3]])


# O4, reduced.
@both
def test_body_captures_a_graph_input(lower, dtype):
    source = model("""g (bool c, float[1,1,4] X) => (float[1,1,6] Y) { Y = If(c) < then_branch = t () => (float[1,1,6] a) { p = Pad(X, pads) a = Conv(p, K) },
        else_branch = e () => (float[1,1,6] b) { b = Pad(X, pads) }> }""", {"pads": np.array([0, 0, 1, 0, 0, 1]), "K": floats([1.0], shape=(1, 1, 1))})
    result = lower(source, dtype)
    for c in (True, False):
        exact(result.run(c=np.array(c), X=floats([[[1, 2, 3, 4]]]))["Y"], [[[0, 1, 2, 3, 4, 0]]])


# O5, reduced: the value that the body captures is computed by nodes that nothing else orders before the Loop.
@both
def test_capture_is_computed_before_the_loop(lower, dtype):
    source = model("""g (float[2,2] X) => (float[2,2] Y) { n = Constant<value_int=2>() t = Constant<value = bool {1}>() late = MatMul(X, I)
        Y = Loop(n, t, X) < body = b (int64 i, bool cin, float[2,2] acc) => (bool cout, float[2,2] next) { cout = Identity(cin) next = Add(acc, late) }> }""", {"I": identity(2)})
    exact(lower(source, dtype).run(X=floats([[1, 2], [3, 4]]))["Y"], [[3, 6], [9, 12]])


# O9: a product that leaves the range of f16 where nothing in the file tells. The next op is wide, so the sum must not pass through f16.
def test_bf16_keeps_a_product_in_range(lower):
    source = model("g (float[1,64] X) => (float[1,1] Y) { Y = MatMul(X, W) }", {"W": np.full((64, 1), 40.0, np.float32)})
    close(lower(source, "bf16").run(X=np.full((1, 64), 32.0, np.float32))["Y"], [[81920.0]], 2.0**-7)


# O10.
@both
def test_initializer_of_a_blocked_and_an_unblocked_op(lower, dtype):
    source = model("g (float[2,2] X) => (float[2,2] Y) { m = MatMul(X, W) Y = Max(m, W) }", {"W": floats([[1, 2], [3, 4]])})
    exact(lower(source, dtype, deny="Max").run(X=identity(2))["Y"], [[1, 2], [3, 4]])


# M10: all tensors became outputs elsewhere, and a folded Range was missing.
@both
def test_range_over_a_computed_length(lower, dtype):
    source = model("""g (int64[B,S] ids) => (float[B,S,2] Y) { s = Shape(ids) n = Gather(s, one) arange = Range(zero, n, one) e = Gather(E, arange) Y = MatMul(e, I) }""",
                   {"one": np.int64(1), "zero": np.int64(0), "E": floats([[1, 2], [3, 4], [5, 6]]), "I": identity(2)})
    for value in source.graph.output:
        value.type.tensor_type.shape.dim[0].dim_param = "S"
    del source.graph.output[0].type.tensor_type.shape.dim[1]
    exact(lower(source, dtype).run(ids=np.zeros((1, 3), np.int64))["Y"], [[1, 2], [3, 4], [5, 6]])


# B1, reduced. Wrong: log of zero, or of 6e-8.
@both
def test_log_of_a_guarded_square(lower, dtype):
    source = model("g (float[1,4] X) => (float[1,4] Y) { m = MatMul(X, I) s = Mul(m, m) e = Add(s, eps) Y = Log(e) }", {"I": identity(4), "eps": np.float32(1e-10)})
    feed = floats([[0, 1e-4, 0.5, 2]])
    close(lower(source, dtype).run(X=feed)["Y"], np.log(feed.astype(np.float64)**2 + 1e-10), absolute=0.02)


# B3: the name of an output is also that of an inner value.
@both
def test_duplicate_of_an_output_name_is_named(lower, dtype):
    source = model("g (float[2,2] X) => (float[2,2] Y) { embedding = MatMul(X, I) Y = Relu(embedding) }", {"I": identity(2)})
    source.graph.node.append(helper.make_node("Neg", ["Y"], ["embedding"]))
    assert "embedding" in lower.fails(source, dtype)


# Uncalled for elsewhere: a model in which nothing may narrow keeps every byte of its weights.
@both
def test_nothing_to_narrow_keeps_the_weights(lower, dtype):
    weight = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    result = lower(model("g (float[4,4] X) => (float[4,4] Y) { e = Exp(X) Y = Mul(e, W) }", {"W": weight}), dtype)
    assert not result.casts() and all(t != NARROW[dtype] for t in result.types.values())
    assert onnx.numpy_helper.to_array(result.model.graph.initializer[0]).tobytes() == weight.tobytes()
    assert nodes(result.model, "Exp") and result.type_of("Mul") == F32
