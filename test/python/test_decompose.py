"""Composite operators against the onnx package's own node tests, before and after `--decompose-onnx`, in f32 and f16."""
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import engines
from harness import amp_opt

#: Operators that `--decompose-onnx` replaces, with the inputs that must be constant (they set axes, shapes or modes).
OPERATORS = {
    "Attention": (), "DepthToSpace": (), "Einsum": (), "EyeLike": (), "GRU": (4,), "LRN": (), "LSTM": (4,), "Pad": (1, 3), "RNN": (4,),
    "Resize": (1, 2, 3), "RotaryEmbedding": (), "SpaceToDepth": (), "Shape": (), "Size": (),
    "BatchNormalization": (), "CastLike": (), "Celu": (), "Clip": (), "Elu": (), "Gelu": (), "Gemm": (),
    "GlobalAveragePool": (), "GlobalMaxPool": (), "GroupNormalization": (), "HardSigmoid": (), "HardSwish": (), "Hardmax": (),
    "InstanceNormalization": (), "LayerNormalization": (), "LeakyRelu": (), "LogSoftmax": (), "LpNormalization": (), "MatMul": (),
    "Max": (), "Mean": (), "MeanVarianceNormalization": (), "Min": (), "Mish": (), "NegativeLogLikelihoodLoss": (), "PRelu": (),
    "RMSNormalization": (), "ReduceL1": (1,), "ReduceL2": (1,), "ReduceLogSum": (1,), "ReduceLogSumExp": (1,),
    "ReduceSumSquare": (1,), "Selu": (), "Shrink": (), "Softmax": (), "SoftmaxCrossEntropyLoss": (), "Softplus": (),
    "Softsign": (), "Sum": (), "Swish": (), "Tan": (), "ThresholdedRelu": (),
}
#: Element types that code is generated for.
TYPES = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64,
         TensorProto.BOOL}
#: Operators on integers that are left alone, or are one of several primitives they become.
MAY_STAY = {"Max", "Min", "MatMul", "Pad"}
NODE_TESTS = Path(onnx.__file__).parent / "backend/test/data/node"


def _load(path):
    data = path.read_bytes()
    tensor = TensorProto.FromString(data)
    return numpy_helper.to_array(tensor)


def _types(model):
    return {value.type.tensor_type.elem_type for value in [*model.graph.input, *model.graph.output]}


def _cases():
    cases = []
    for folder in sorted(NODE_TESTS.iterdir()):
        if folder.name.endswith(("_expanded", "_expanded_ver18")) or not (folder / "test_data_set_0").exists():
            continue
        model = onnx.load(folder / "model.onnx")
        if len(model.graph.node) == 1 and model.graph.node[0].op_type in OPERATORS and _types(model) <= TYPES:
            cases.append(folder)
    return cases


CASES = _cases()
FLOAT_CASES = [folder for folder in CASES if TensorProto.FLOAT in _types(onnx.load(folder / "model.onnx"))
               and onnx.load(folder / "model.onnx").graph.node[0].op_type not in ("CastLike", "Celu", "EyeLike")]


def _name(folder):
    return folder.name.removeprefix("test_")


def _feeds(folder, model):
    return {value.name: _load(folder / f"test_data_set_0/input_{i}.pb") for i, value in enumerate(model.graph.input)}


def _freeze(model, feeds):
    """Makes initializers of the inputs that have to be constant."""
    node = model.graph.node[0]
    for position in OPERATORS[node.op_type]:
        if position >= len(node.input) or node.input[position] not in feeds:
            continue
        name = node.input[position]
        model.graph.initializer.append(numpy_helper.from_array(feeds.pop(name), name))
        kept = [value for value in model.graph.input if value.name != name]
        del model.graph.input[:]
        model.graph.input.extend(kept)


def _decompose(model, folder):
    source, target = folder / "m.onnx", folder / "d.onnx"
    onnx.save(model, source)
    run = amp_opt(source, "--decompose-onnx", "--canonicalize", "--decompose-train=to-onnx", "-o", target)
    assert run.ok, run.describe()
    return onnx.load(target)


def _run(model, feeds):
    try:
        return engines.run_ort(model, feeds)
    except engines.CannotRun:
        return engines.run_reference(model, feeds)


def _narrow(model):
    """The same model with every float32 input and output float16; a LayerNormalization's statistics stay as they are."""
    narrow = onnx.ModelProto.FromString(model.SerializeToString())
    outputs = narrow.graph.output[:1] if narrow.graph.node[0].op_type == "LayerNormalization" else narrow.graph.output
    for value in [*narrow.graph.input, *outputs]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return narrow


def _check_structure(model, decomposed):
    op = model.graph.node[0].op_type
    left = {node.op_type for node in decomposed.graph.node}
    assert op in MAY_STAY or op not in left, f"{op} is still there: {sorted(left)}"


@pytest.mark.parametrize("folder", CASES, ids=_name)
def test_as_specified(folder, tmp_path):
    model = onnx.load(folder / "model.onnx")
    feeds = _feeds(folder, model)
    _freeze(model, feeds)
    decomposed = _decompose(model, tmp_path)
    _check_structure(model, decomposed)
    results = _run(decomposed, feeds)
    for i, output in enumerate(model.graph.output):
        expected = _load(folder / f"test_data_set_0/output_{i}.pb")
        assert results[output.name].dtype == expected.dtype
        limits = {"rtol": 1e-3, "atol": 1e-3} if expected.dtype == np.float16 else {"rtol": 2e-5, "atol": 2e-6}
        np.testing.assert_allclose(results[output.name], expected, **limits, equal_nan=True, err_msg=output.name)


@pytest.mark.parametrize("folder", FLOAT_CASES, ids=_name)
def test_half_rounds_once(folder, tmp_path):
    """In float16, the result is that of float32 on the same numbers, rounded: within one unit of the last place."""
    model = onnx.load(folder / "model.onnx")
    feeds = _feeds(folder, model)
    _freeze(model, feeds)
    feeds = {name: value.astype(np.float16) if value.dtype == np.float32 else value for name, value in feeds.items()}
    wide = {name: value.astype(np.float32) if value.dtype == np.float16 else value for name, value in feeds.items()}
    # ONNX Runtime rounds the output's size before it aligns corners.
    expected = engines.run_reference(model, wide) if "align_corners" in folder.name else _run(model, wide)
    narrow = _narrow(model)
    results = _run(_decompose(narrow, tmp_path), feeds)
    for output in narrow.graph.output:
        result, reference = results[output.name], expected[output.name]
        if output.type.tensor_type.elem_type == TensorProto.FLOAT16:
            assert result.dtype == np.float16
            reference = reference.astype(np.float16)
        ulp = np.spacing(np.abs(reference).clip(6e-5, 60000)) if reference.dtype == np.float16 else 1e-3
        same = (result == reference) | (np.isnan(result) & np.isnan(reference))
        assert np.all(same | (np.abs(result.astype(np.float64) - reference) <= ulp)), (output.name, result, reference)


def _dropout(folder, name, ratio=0.25):
    """Output and mask of a Dropout in training mode, decomposed, on ones."""
    from onnx import helper
    constants = {"ratio": np.float32(ratio), "yes": np.array(True)}
    node = helper.make_node("Dropout", ["x", "ratio", "yes"], ["y", "mask"], name=name)
    shape = [40, 50, 20]
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape),
                               helper.make_tensor_value_info("mask", TensorProto.BOOL, shape)],
                              [numpy_helper.from_array(value, key) for key, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    results = engines.run_reference(_decompose(model, folder), {"x": np.ones(shape, np.float32)})
    return results["y"], results["mask"]


def test_dropout_is_random_and_repeatable(tmp_path):
    y, mask = _dropout(tmp_path, "one")
    np.testing.assert_array_equal(y, np.where(mask, np.float32(1) / np.float32(0.75), 0))
    # Five standard deviations of the share that is kept: of all, along an axis, and of neighbours kept together.
    def near(share, expected, count):
        return np.all(np.abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / count))
    assert near(mask.mean(), 0.75, mask.size)
    for axis in range(3):
        assert near(mask.mean(axis), 0.75, mask.shape[axis])
        pairs = np.diff(mask.astype(int), axis=axis) == 0
        assert near(pairs.mean(), 0.75**2 + 0.25**2, pairs.size)
    assert np.array_equal(_dropout(tmp_path, "one")[1], mask)
    other = _dropout(tmp_path, "two")[1]
    assert near((other == mask).mean(), 0.75**2 + 0.25**2, mask.size)
