"""The gradient of an operator and of its function body agree: the onnx package's node tests that come with an `_expanded` twin.

A rule is written for the operator as a whole, the body is differentiated by the rules of its primitives: two independent derivations."""
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import reference_ops
from corpus import onnx_suite, sample
from gradient_batch import Erf, Evaluator, rng_of
from harness import FULL, amp_opt

SUFFIX = "_expanded"


def twins():
    cases = {case.name: case for case in onnx_suite() if case.name.startswith("node/")}
    pairs = []
    for name, case in cases.items():
        base = name.split(SUFFIX)[0]
        if SUFFIX in name and base in cases:
            pairs.append(case)
    return pairs if FULL else sample(pairs, 4)


_compared = []


class Unfit(Exception):
    """Why a pair says nothing."""


def load_inputs(folder, model):
    feeds = {}
    for i, info in enumerate(model.graph.input):
        if not info.type.HasField("tensor_type"):
            raise Unfit("inputs that are no tensors")
        path = Path(folder) / f"input_{i}.pb"
        value = numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
        # Off the kinks, which examples like to show; there the body may take another side.
        moved = value + rng_of(path, i).uniform(0.003, 0.01, value.shape) if value.dtype == np.float32 else value
        feeds[info.name] = np.asarray(moved, value.dtype)
    return feeds


def with_loss(model, feeds):
    """The model with `the.loss` = the sum of its float outputs, each times random numbers; what is not float32 becomes a constant."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    for info in list(graph.input):
        if feeds[info.name].dtype != np.float32:
            graph.initializer.append(numpy_helper.from_array(feeds[info.name], info.name))
            graph.input.remove(info)
    parts = []
    for info in graph.output:
        tensor = info.type.tensor_type
        if tensor.elem_type != onnx.TensorProto.FLOAT:
            continue
        shape = [dim.dim_value for dim in tensor.shape.dim]
        if any(not dim.HasField("dim_value") for dim in tensor.shape.dim):
            raise Unfit("outputs of unknown shape")
        weights = np.asarray(rng_of(info.name, shape).standard_normal(shape), np.float32)
        graph.initializer.append(numpy_helper.from_array(weights, f"{info.name}.weights"))
        graph.node.extend([helper.make_node("Mul", [info.name, f"{info.name}.weights"], [f"{info.name}.product"]),
                           helper.make_node("ReduceSum", [f"{info.name}.product"], [f"{info.name}.sum"], keepdims=0)])
        parts.append(f"{info.name}.sum")
    if not parts:
        raise Unfit("no float32 output")
    graph.node.append(helper.make_node("Sum", parts, ["the.loss"]))
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("the.loss", onnx.TensorProto.FLOAT, []))
    return model


def differentiable(path, model):
    """Names of the inputs to differentiate by: not the class weights of losses nor the tables of rotary embeddings, which are constants to the rules."""
    first_only = ("test_nllloss", "test_sce", "test_rotary_embedding")
    names = [info.name for info in model.graph.input]
    return names[:1] if Path(path).parent.name.startswith(first_only) else names


def gradients(path, folder):
    """Gradients of the loss by the float32 inputs, by position."""
    model = onnx.load(path)
    feeds = load_inputs(folder, model)
    if "" not in {opset.domain for opset in model.opset_import} or min(o.version for o in model.opset_import if not o.domain) < 13:
        raise Unfit("an opset in which ReduceSum has its axes as an attribute")
    model = with_loss(model, feeds)
    names = differentiable(path, model)
    if not names:
        raise Unfit("no float32 input")
    with tempfile.TemporaryDirectory() as temporary:
        source, target = Path(temporary) / "m.onnx", Path(temporary) / "g.onnx"
        onnx.save(model, source)
        run = amp_opt(source, "--onnx-bind-dims", f"--train-differentiate=loss=the.loss wrt={','.join(names)}",
                      "--decompose-train=to-onnx", "--canonicalize", "-o", target)
        if run.signal:
            pytest.fail(run.describe())
        if not run.ok:
            missing = {line.split("note: ")[-1].split()[0] for line in run.stderr.splitlines() if "note: " in line}
            error = next((line.split("error: ")[-1] for line in run.stderr.splitlines() if "error: " in line), run.stderr)
            raise Unfit("no rule for " + ", ".join(sorted(missing)) if "gradient rule" in error else error)
        differentiated = onnx.load(target)
    outputs = [f"grad.{name}" for name in names]
    used = {info.name: feeds[info.name] for info in model.graph.input}
    try:
        return Evaluator(differentiated, "reference", [*reference_ops.OPERATORS, Erf]).run(outputs, used)
    except Exception:  # the reference implementation lacks forms of operators
        return Evaluator(differentiated, "runtime").run(outputs, used)


@pytest.mark.parametrize("case", twins(), ids=lambda case: case.name)
def test_gradients_of_body_and_operator_agree(case, record):
    whole = case.path.split(SUFFIX)[0] + "/model.onnx"
    folder = str(Path(whole).parent / "test_data_set_0")
    try:
        expected = gradients(case.path, folder)
        found = gradients(whole, folder)
    except Unfit as reason:
        record("twins", f"left out: {str(reason)[:80]}")
        pytest.skip(str(reason))
    for of_operator, of_body in zip(found, expected):
        scale = max(1.0, float(np.abs(of_body).max(initial=0)))
        np.testing.assert_allclose(of_operator, of_body, rtol=1e-4, atol=2e-5 * scale)
    _compared.append(case.name)
    record("twins", "operators whose gradient is that of their body")


def test_enough_pairs_were_compared(request):
    """Pairs are left out for a reason each, but not most of them."""
    ran = sum(item.path == request.path for item in request.session.items)
    if ran < len(twins()):
        pytest.skip("only some of the pairs were asked for")
    assert len(_compared) >= 0.4 * len(twins())
