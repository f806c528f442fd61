"""What passes do not look at comes back as it was: doc strings, empty names at the end, the order of initializers."""
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import canonical
from harness import amp_opt, autocast_option
from small import floats, identity, model


def _tensor_doc(size):
    proto = model("g (float[N,K] X) => (float[N,K] Y) { c = Constant<value = float[1] {1}>() h = MatMul(X, c) Y = Softmax<axis=1>(h) }", opset=26, ir=10)
    proto.graph.node[0].attribute[0].t.CopyFrom(numpy_helper.from_array(np.ones((size, size), np.float32), "named"))
    proto.graph.node[0].attribute[0].t.doc_string = "of the tensor"
    proto.graph.node[0].attribute[0].doc_string = "of the attribute"
    proto.graph.node[2].attribute[0].doc_string = "of a number"
    return proto


def _trailing(text, node, inputs=0, outputs=0, inits=None):
    proto = model(text, inits, opset=26, ir=10)
    proto.graph.node[node].input.extend([""] * inputs)
    proto.graph.node[node].output.extend([""] * outputs)
    return proto


def _defaults(order, listed, ir=10):
    """Initializers in `order`; those in `listed` can be overridden."""
    inputs = "".join(f", float[2,2] {name}" for name in listed)
    proto = model(f"g (float[2,2] X{inputs}) => (float[2,2] Y) {{ h = MatMul(X, a) i = MatMul(h, b) j = MatMul(i, c) Y = MatMul(j, d) }}",
                  {name: identity(2) * (position + 1) for position, name in enumerate(order)}, opset=26, ir=ir)
    for tensor in proto.graph.initializer:
        tensor.doc_string = "about " + tensor.name
        tensor.metadata_props.add(key="of", value=tensor.name)
    return proto


CASES = {
    "doc strings of a small tensor": _tensor_doc(2), "doc strings of a large tensor": _tensor_doc(64),
    "empty input at the end": _trailing('g (float[1,1,2,2] X) => (float[1,1,4,4] Y) { Y = Resize(X, "", S) }', 0, inputs=1, inits={"S": floats([1, 1, 2, 2])}),
    "empty inputs and output at the end": _trailing("g (float[4,4] X) => (float[4,4] Y) { Y = Dropout(X) }", 0, inputs=2, outputs=1),
    "defaults first": _defaults("abcd", "ab"), "defaults last": _defaults("abcd", "cd"), "defaults between": _defaults("abcd", "bd"),
    "defaults in another order than the inputs": _defaults("dcba", "bd"), "only defaults": _defaults("badc", "abcd"), "weights as inputs": _defaults("abcd", "abcd", ir=3),
}


@pytest.mark.parametrize("name", CASES)
def test_round_trip(name, tmp_path):
    onnx.save(CASES[name], tmp_path / "in.onnx")
    for way in (["in.onnx", "-o", "out.onnx"], ["in.onnx", "-o", "out.mlir"], ["out.mlir", "-o", "again.onnx"]):
        run = amp_opt(*[tmp_path / part if "." in part else part for part in way])
        assert run.ok, run.describe()
    for target in ("out.onnx", "again.onnx"):
        found = canonical.difference(canonical.model_form(CASES[name]), canonical.model_form(onnx.load(tmp_path / target)))
        assert found is None, f"{target}: {found}"


def test_defaults_keep_their_place_among_narrow_weights(tmp_path):
    onnx.save(CASES["defaults between"], tmp_path / "in.onnx")
    run = amp_opt(tmp_path / "in.onnx", autocast_option("f16"), "-o", tmp_path / "out.onnx")
    assert run.ok, run.describe()
    assert [t.name for t in onnx.load(tmp_path / "out.onnx").graph.initializer] == list("abcd")


def test_empty_names_that_an_older_form_lacks_are_dropped(tmp_path):
    """Dropout has one input before opset 12."""
    proto = _trailing("g (float[4,4] X) => (float[4,4] Z) { Y = Dropout(X) Z = Dropout(Y) }", 1, inputs=2)
    onnx.save(proto, tmp_path / "in.onnx")
    run = amp_opt(tmp_path / "in.onnx", "--export-opset=11", "-o", tmp_path / "out.onnx")
    assert run.ok, run.describe()
    result = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(result, full_check=True)
    assert [list(n.input) for n in result.graph.node] == [["X"], ["Y"]]


#: Broadcasting before opset 7, and the slope of PRelu: inputs X [2,3,4] and b.
LEGACY = {"an axis": "float[3] b) => (float[2,3,4] Y) { Y = Add<broadcast=1, axis=1>(X, b) }", "two axes": "float[2,3] b) => (float[2,3,4] Y) { Y = Mul<broadcast=1, axis=0>(X, b) }",
          "the last axes": "float[3,4] b) => (float[2,3,4] Y) { Y = Sub<broadcast=1>(X, b) }", "a scalar": "float[1] b) => (float[2,3,4] Y) { Y = Div<broadcast=1>(X, b) }",
          "ones before the last axis": "float[4] b) => (float[2,3,4] Y) { u = Unsqueeze<axes=[0]>(b) s = Squeeze<axes=[0]>(u) Y = Add<broadcast=1>(X, s) }",
          "twice": "float[3] b) => (float[2,3,4] Y) { h = Add<broadcast=1, axis=1>(X, b) Y = Mul<broadcast=1, axis=1>(h, b) }",
          "a slope per channel": "float[3] b) => (float[2,3,4] Y) { Y = PRelu(X, b) }",
          "an Unsqueeze of its own": "float[3] b) => (float[2,3,4] Y) { h = Add<broadcast=1, axis=1>(X, b) u = Unsqueeze<axes=[1]>(b) s = Squeeze<axes=[1]>(u) Y = Add<broadcast=1, axis=1>(h, s) }"}


@pytest.mark.parametrize("name", LEGACY)
def test_broadcasting_of_opset_6(name, tmp_path):
    """Raised at import by Unsqueeze, lowered at export without a trace of it."""
    proto = model(f"g (float[2,3,4] X, {LEGACY[name]}", opset=6, ir=3)
    onnx.save(proto, tmp_path / "in.onnx")
    run = amp_opt(tmp_path / "in.onnx", "-o", tmp_path / "out.onnx")
    assert run.ok, run.describe()
    assert canonical.difference(canonical.model_form(proto), canonical.model_form(onnx.load(tmp_path / "out.onnx"))) is None


def test_broadcasting_of_opset_6_in_half(tmp_path):
    """Autocast leaves no pair of Unsqueeze and Squeeze behind, either, and a second run changes nothing."""
    proto = model("g (float[1,2,4] X, float[3] b) => (float[1,3,4] Y) { c = Conv(X, k) d = Add<broadcast=1, axis=1>(c, b) e = Relu(d) Y = PRelu(e, b) }",
                  {"k": np.ones((3, 2, 1), np.float32)}, opset=6, ir=4)
    onnx.save(proto, tmp_path / "in.onnx")
    for source, target in (("in.onnx", "out.onnx"), ("out.onnx", "again.onnx")):
        run = amp_opt(tmp_path / source, autocast_option("f16"), "-o", tmp_path / target)
        assert run.ok, run.describe()
    result, again = onnx.load(tmp_path / "out.onnx"), onnx.load(tmp_path / "again.onnx")
    onnx.checker.check_model(result, full_check=True)
    assert canonical.difference(canonical.model_form(result), canonical.model_form(again)) is None
    assert [n.op_type for n in result.graph.node if n.op_type != "Cast"] == ["Conv", "Add", "Relu", "PRelu"]
