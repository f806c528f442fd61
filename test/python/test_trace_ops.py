"""Every aten overload that has a rule gives PyTorch's values, and its gradients where they are defined."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (utils/setup --torch)")
amp = pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")

import trace_cases
import trace_ops
from trace_ops import RULES, full_name

from amp_mlir.tracing import UnsupportedOps

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def close(found, expected, context, scale=1.0):
    expected = expected.detach().numpy(force=True)
    assert found.dtype == expected.dtype, f"{context}: {found.dtype}, PyTorch has {expected.dtype}"
    assert found.shape == expected.shape, f"{context}: shape {found.shape}, PyTorch has {expected.shape}"
    if found.dtype == bool or found.dtype.kind in "iu":
        np.testing.assert_array_equal(found, expected, err_msg=str(context))
        return
    # A NaN gradient of PyTorch's is its 0 / 0.
    found, expected = (found[~np.isnan(expected)], expected[~np.isnan(expected)]) if scale != 1 else (found, expected)
    # Sums are taken in other orders; a half type is rounded once more.
    tolerance = (2e-3 if found.dtype == np.float16 else 2e-5) * scale
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance, err_msg=str(context))


def test_every_rule_has_cases():
    known = {full_name(name) for table in (trace_cases.CASES, trace_cases.RANDOM, trace_cases.REFUSED) for name in table}
    assert known == set(RULES)
    assert len(RULES) >= 180


@pytest.mark.parametrize("name", trace_cases.CASES)
def test_values(name):
    for case in trace_cases.CASES[name]:
        builder = amp.GraphBuilder("case")
        names, feeds, expected = trace_ops.build(builder, name, case)
        results = trace_ops.run_model(trace_ops.to_onnx(builder.finish()), {key: value.numpy() for key, value in feeds.items()})
        expected = expected if isinstance(expected, (list, tuple)) else [expected]
        for output, value in zip(names, expected):
            if output is not None:
                close(results[output], value, (name, case))


@pytest.mark.parametrize("name", trace_cases.RANDOM)
def test_random(name):
    builder = amp.GraphBuilder("case")
    (output,), feeds, expected = trace_ops.build(builder, name, trace_cases.RANDOM[name])
    found = trace_ops.run_model(trace_ops.to_onnx(builder.finish()), {key: value.numpy() for key, value in feeds.items()})[output]
    assert found.dtype == expected.numpy().dtype and found.shape == tuple(expected.shape)
    if "empty" not in name:
        # A thousand draws: mean and deviation are within a fifth of what PyTorch draws.
        assert abs(found.mean() - expected.numpy().mean()) < 0.2 and abs(found.std() - expected.numpy().std()) < 0.2


@pytest.mark.parametrize("name", sorted(trace_cases.REFUSED))
def test_refused(name):
    x, v = torch.ones(2, 3), torch.ones(3)
    with pytest.raises(UnsupportedOps, match="give the module itself"):
        trace_ops.build(amp.GraphBuilder("case"), name, (x, v, v, v.clone(), v.clone(), True, 0.1, 1e-5))


# Gradients ----------------------------------------------------------------------------------------

# What a rule uses that has no gradient, by the operator that is named in the error.
NO_GRADIENT = {"cumprod": "CumProd", "grid_sampler": "GridSample", "grid_sampler_2d": "GridSample", "grid_sampler_3d": "GridSample",
               "affine_grid_generator": "AffineGrid", "col2im": "Col2Im"}


def is_trained(tensor):
    return tensor.dtype == torch.float32 and bool(torch.isfinite(tensor).all())


def gradient_cases():
    for name, cases in trace_cases.CASES.items():
        for index, case in enumerate(cases):
            args, keywords = trace_ops.split(case)
            tensors = list(trace_ops.tensors_of((args, keywords)))
            if (name, index) not in OTHER_GRADIENT and tensors and all(is_trained(t) or not t.is_floating_point() for t in tensors) and any(map(is_trained, tensors)):
                yield pytest.param(name, case, id=f"{name}-{index}")


# Beyond the bound of the logarithm PyTorch's gradient is that of a clamped quotient, ours 0.
OTHER_GRADIENT = {("binary_cross_entropy", 1)}


def expected_gradients(name, case, weights):
    """PyTorch's gradients by input name; None where it has none."""
    tensors, copies = trace_ops.leaves(case)
    for copy in copies.values():
        copy.requires_grad_(copy.dtype == torch.float32)
    args, keywords = trace_ops.split(trace_ops.replace(case, copies))
    result = trace_ops.overload(name)(*args, **keywords)
    results = [r for r in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(r, torch.Tensor)]
    used = [(r, w) for r, w in zip(results, weights) if w is not None and r.requires_grad]
    if not used:
        return None
    sum((r * w).sum() for r, w in used).backward()
    return {f"x{index}": copies[id(tensor)].grad for index, tensor in enumerate(tensors)}


@pytest.mark.parametrize("name, case", list(gradient_cases()))
def test_gradients(name, case):
    module, tensors, result = trace_ops.one_node(name, case)
    results = [r for r in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(r, torch.Tensor)]
    weights = [torch.randn(r.shape, generator=torch.Generator().manual_seed(3)) for r in results]
    graph, given = trace_ops.build_loss(amp.GraphBuilder("case"), module, tensors, weights)
    weights = [weight if index in given else None for index, weight in enumerate(weights)]
    try:
        expected = expected_gradients(name, case, weights)
    except RuntimeError as error:
        pytest.skip(f"PyTorch has no gradient here: {str(error).splitlines()[0][:80]}")
    if expected is None:
        return
    if name in NO_GRADIENT:
        with pytest.raises(amp.Error, match=NO_GRADIENT[name]):
            trace_ops.differentiate(graph)
        return
    model = trace_ops.differentiate(graph)
    found = trace_ops.run_model(model, {f"x{index}": tensor.numpy() for index, tensor in enumerate(tensors)})
    for key, gradient in expected.items():
        if f"grad.{key}" in found:
            close(found[f"grad.{key}"], torch.zeros_like(tensors[int(key[1:])]) if gradient is None else gradient, (name, key, case), 5)
        else:
            assert gradient is None
