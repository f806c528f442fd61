"""Gradients of operators: against finite differences in float64, against PyTorch autograd, for every subset of operands, in half types against float64,
under a scale of 2^16."""
import numpy as np
import pytest

import gradient_cases
import gradient_shape_cases
from gradient_batch import BFLOAT16, Batch, run_cases, subsets

FAMILIES = (gradient_cases.unary, gradient_cases.activations, gradient_cases.broadcasting, gradient_cases.edges, gradient_shape_cases.reductions,
            gradient_shape_cases.movement, gradient_shape_cases.joins, gradient_shape_cases.pads, gradient_shape_cases.indexing,
            gradient_shape_cases.scatters, gradient_shape_cases.products)
CASES = {family.__name__: list(family()) for family in FAMILIES}
# The reference implementation lacks forms of these families.
ENGINES = {"indexing": "runtime", "pads": "runtime", "scatters": "runtime"}
ALL = [pytest.param(family, i, id=f"{family}-{case.name}") for family, cases in CASES.items() for i, case in enumerate(cases)]
_results = {}


def result_of(family, index):
    """The result of one case; the cases of a family run together, once."""
    if family not in _results:
        _results[family] = run_cases(CASES[family], engine=ENGINES.get(family, "reference"))
    result = _results[family][index]
    if result.error:
        pytest.fail(result.error)
    return result


def test_names_are_unique():
    names = [case.name for cases in CASES.values() for case in cases]
    assert len(names) == len(set(names)), {name for name in names if names.count(name) > 1}


@pytest.mark.parametrize("family, index", [p for p in ALL if CASES[p.values[0]][p.values[1]].smooth])
def test_finite_differences(family, index, record):
    result = result_of(family, index)
    analytic, numeric, size = result.difference
    # A central difference with step 1e-6 is off by its own rounding (1e-16 / 1e-6) and by the third derivative (1e-12).
    assert abs(analytic - numeric) <= 2e-8 * max(size, 1), (analytic, numeric)
    record("gradients", "cases against finite differences")


@pytest.mark.parametrize("family, index", [p for p in ALL if CASES[p.values[0]][p.values[1]].torch])
def test_torch(family, index, record):
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle")
    case, result = CASES[family][index], result_of(family, index)
    operands = [None if v is None else torch.tensor(v) for v in case.operands]
    for i in case.wrt:
        operands[i].requires_grad_()
    present = [o for o in operands if o is not None]
    outputs = case.torch(*present)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    loss = sum((outputs[j] * torch.tensor(r)).sum() for j, r in result.cotangents.items())
    for j in result.cotangents:
        np.testing.assert_allclose(outputs[j].detach().numpy(), result.outputs[j], rtol=5e-7, atol=1e-9)
    gradients = torch.autograd.grad(loss, [operands[i] for i in case.wrt], allow_unused=True)
    for i, gradient in zip(case.wrt, gradients):
        expected = np.zeros_like(case.operands[i]) if gradient is None else gradient.numpy()
        # Attributes are float32 in ONNX: 1e-7.
        np.testing.assert_allclose(result.gradients[i], expected, rtol=5e-7, atol=1e-12, err_msg=f"operand {i}")
    record("gradients", "cases against PyTorch")


@pytest.mark.parametrize("family, index", [p for p in ALL if CASES[p.values[0]][p.values[1]].expected])
def test_closed_form(family, index):
    case, result = CASES[family][index], result_of(family, index)
    for i, expected in case.expected.items():
        np.testing.assert_array_equal(result.gradients[i], np.asarray(expected, np.float64), err_msg=f"operand {i}")


@pytest.mark.parametrize("family", CASES)
def test_every_subset_of_operands(family, record):
    """What is asked for does not change what a gradient is."""
    working = [i for i, case in enumerate(CASES[family]) if len(case.wrt) > 1 and result_of(family, i)]
    cases = [CASES[family][i] for i in working]
    if not cases:
        pytest.skip("no operator here has two operands to differentiate")
    entries = subsets(cases)
    for (i, wrt), result in zip(entries, Batch(cases, entries, ENGINES.get(family, "reference")).run()):
        full = result_of(family, working[i])
        for operand in wrt:
            np.testing.assert_array_equal(result.gradients[operand], full.gradients[operand], err_msg=f"{cases[i].name}: operand {operand} of {wrt}")
        record("gradients", "subsets of operands")


def smooth_in_half(case):
    """Cases that float16 can be compared in: operators that ONNX Runtime or the reference implementation has for it."""
    return case.smooth and all(v is None or v.dtype in (np.float64, np.int64, np.bool_) for v in case.operands)


# ONNX has no bfloat16 for the first three, the reference implementation's product of matrices none.
NO_BFLOAT16 = ("Shrink", "ReverseSequence", "Celu", "MatMul", "Gemm", "Einsum")


@pytest.mark.parametrize("family", ["unary", "activations", "broadcasting", "reductions", "movement", "joins", "products"])
@pytest.mark.parametrize("dtype, unit", [(np.dtype(np.float16), 2.0**-11), (BFLOAT16, 2.0**-8)], ids=["float16", "bfloat16"])
def test_half_types(family, dtype, unit, record):
    """Gradients in a half type are those of float64, at the same values, within a few roundings."""
    cases = [case for case in CASES[family] if smooth_in_half(case) and not (dtype == BFLOAT16 and case.op in NO_BFLOAT16)]
    if not cases:
        pytest.skip("the reference implementation has no such products in bfloat16")
    narrow = [case.with_type(dtype) for case in cases]
    wide = [case.with_type(np.float64) for case in narrow]
    for case, half, full in zip(cases, run_cases(narrow, differences=False), run_cases(wide, differences=False)):
        assert not half.error and not full.error, (case.name, half.error, full.error)
        for i in case.wrt:
            assert half.gradients[i].dtype == dtype
            expected = full.gradients[i]
            # A formula may read the result, which is rounded: an error of one unit in whatever the cotangent is multiplied by.
            largest = max((np.abs(r).max() for r in half.cotangents.values() if r.size), default=0)
            tolerance = unit * (4 * np.abs(expected) + 8 * largest) + 2.0**-24
            error = np.abs(half.gradients[i].astype(np.float64) - expected)
            assert (error <= tolerance).all(), (case.name, i, half.gradients[i], expected)
        record("gradients", f"cases in {dtype.name} against float64")


@pytest.mark.parametrize("family", [name for name in CASES if name != "edges"])
def test_power_of_two_scales(family, record):
    """Rules are linear in the cotangent, bit for bit: loss scaling changes no gradient."""
    cases = [case.with_type(np.float32) for i, case in enumerate(CASES[family]) if smooth_in_half(case) and not result_of(family, i).error]
    engine = ENGINES.get(family, "reference")
    plain, scaled = Batch(cases, engine=engine).run(), Batch(cases, engine=engine, scale=2.0**16).run()
    for case, one, other in zip(cases, plain, scaled):
        for i in case.wrt:
            np.testing.assert_array_equal(one.gradients[i] * np.float32(2.0**16), other.gradients[i], err_msg=f"{case.name}: operand {i}")
        record("gradients", "cases with a scale of 2^16, bit-equal")
