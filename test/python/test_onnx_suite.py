"""Round trip and autocast of the onnx wheel's test data and of ONNX Runtime's test graphs.

A fixed sample by default; AMP_FULL=1 runs everything, AMP_DRAW=300:7 a random 300 with seed 7.
"""
import random
import re

import pytest

import corpus
import flows
from harness import DRAWN, FULL
from test_real_models import known_overflow

#: Drawn more often into the sample: what converters are known to trip over.
HARD = ("loop", "if_", "scan", "sequence", "optional", "resize", "softmax", "batchnorm", "layer_normalization", "attention", "lstm",
        "gru", "cast", "bfloat16", "float8", "int4", "strnorm", "gradient", "subgraph", "function", "propagate_cast/matmul_add",
        "external", "fp16")
#: Models whose numbers may differ more than the rule allows: name pattern -> ({dtype: (relative, absolute)}, reason).
TOLERANCES = {
    "^ort/conv_qdq_s8s8": ({"bf16": (0.0, 1.64)}, "one step of its output's quantisation, which is 1.63"),
    "/qdq_with_multi_consumer_dq_nodes": ({"bf16": (1.2e-1, 0.0)}, "quantised convolutions in a row, each of which may land one step beside"),
}
#: What is wrong with a source, and therefore with its results: name -> (what each problem says, reason).
KNOWN = {
    "ort/training_api/custom_ops/training_model": (
        "twice, with opset 7 and with opset 14", "imports of one domain that contradict each other are refused; the checker looks at the last alone"),
    "pytorch-operator/test_operator_add_size1_broadcast": (
        "binary operator 'Add'", "its [2,1] onto [2,3] is against the rule of opset 6; we write [2] from axis 0 on, which the evaluator does not know"),
    "ort/transform/fusion/fuse-matmul-bn-only-transpose": (
        "Dimension mismatch in unification between 5 and 1", "a BatchNormalization of 1 channel with 5 scales: amp-opt warns of it; the checker sees it from opset 14 on"),
}

_ort, _ort_reason = corpus.ort_testdata()


def _selected():
    cases = corpus.onnx_suite() + _ort
    if FULL:
        return cases
    if DRAWN:
        count, seed = DRAWN.split(":")
        return sorted(random.Random(seed).sample(cases, int(count)), key=lambda case: case.name)
    hard = [case for case in cases if any(word in case.name for word in HARD)]
    light = [case for case in cases if case.name in ("light/light_densenet121", "light/light_squeezenet")]
    cases = [case for case in cases if not case.name.startswith("light/")]  # their weights take seconds each
    return sorted({*corpus.sample(cases, 10), *corpus.sample(hard, 5), *light}, key=lambda case: case.name)


def _round_trip(item, pool):
    return flows.round_trip(item.callspec.params["case"], pool)


def _autocast(item, pool):
    case, dtype = item.callspec.params["case"], item.callspec.params["dtype"]
    limits = next((limits for pattern, (limits, _) in TOLERANCES.items() if re.search(pattern, case.name)), {})
    return flows.convert(case, dtype, pool, limits.get(dtype))


def known_fault(case, verdict):
    """Marks the test as an expected failure where the source is at fault, and nothing else is wrong."""
    text, reason = KNOWN.get(case.name, ("", ""))
    if reason and verdict["problems"] and all(text in problem for problem in verdict["problems"]):
        pytest.xfail(reason)


_each = pytest.mark.parametrize("case", _selected(), ids=lambda case: case.name)


@pytest.mark.job.with_args(_round_trip)
@_each
def test_round_trip(case, ahead, request, record):
    verdict = ahead.result(request.node)
    record("round trip", f"models judged by {verdict['how'].split(' ')[0]}")
    if verdict.get("identical"):
        record("round trip", "models come back field for field identical")
    known_fault(case, verdict)
    assert not verdict["problems"], "\n".join(verdict["problems"])


@pytest.mark.job.with_args(_autocast)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@_each
def test_autocast(case, dtype, ahead, request, record):
    verdict = ahead.result(request.node)
    record(f"autocast {dtype}", f"models judged by {verdict['how'].split(' ')[0]}")
    if verdict.get("narrow"):
        record(f"autocast {dtype}", "models with narrow heavy ops")
    known_overflow(case, dtype, verdict)
    known_fault(case, verdict)
    assert not verdict["problems"], "\n".join(verdict["problems"])


@pytest.mark.skipif(not _ort_reason, reason="ONNX Runtime's graphs are part of the tests above")
def test_ort_testdata_is_here():
    pytest.skip(_ort_reason)
