"""Folded shape arithmetic has the values that the onnx reference evaluator computes.

One model holds many random nodes of every operator that folds, all on constants, each with its result as an output."""
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from harness import amp_opt

INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]
# Folds in these counts are checked; the rest (float arithmetic, overflow) is to stay.
COUNT = 25


class Builder:
    """Nodes on constants; `add` names the result an output."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.nodes, self.constants, self.outputs = [], [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, arrays, **attributes):
        name = f"{op}_{len(self.outputs)}"
        inputs = ["" if a is None else self.constant(a) for a in arrays]
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        self.outputs.append(name)

    def model(self):
        # Types are left to inference.
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "folds", [], outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        return inferred

    # Random material.
    def shape(self, rank=None):
        return [self.random.randint(1, 3) for _ in range(self.random.randint(0, 3) if rank is None else rank)]

    def ints(self, shape, dtype=np.int64, low=-9, high=9):
        low = max(low, np.iinfo(dtype).min)
        return self.numpy.integers(low, high, size=shape, endpoint=True).astype(dtype)

    def broadcastable(self, shape):
        return [1 if self.random.random() < 0.4 else size for size in shape][self.random.randint(0, len(shape)):]


def arithmetic(b):
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Equal"):
        shape, dtype = b.shape(), b.random.choice(INTS if op != "Sub" else INTS[:4])
        other = b.ints(b.broadcastable(shape), dtype, low=1 if op == "Div" else -9)
        first = b.ints(shape, dtype, high=9)
        b.add(op, [first, other])
    for op in ("Less", "LessOrEqual", "Mod"):
        shape, dtype = b.shape(), b.random.choice(INTS)
        divisor = b.ints(b.broadcastable(shape), dtype)
        b.add(op, [b.ints(shape, dtype), np.where(divisor == 0, 1, divisor).astype(dtype) if op == "Mod" else divisor],
              **({"fmod": b.random.choice([0, 1])} if op == "Mod" else {}))
    b.add("Neg", [b.ints(b.shape(), b.random.choice(INTS[:4]))])


def moves(b):
    rank = b.random.randint(1, 3)
    shape = b.shape(rank)
    data = b.numpy.random(shape).astype(b.random.choice([np.float32, np.float64, np.float16]))
    axis = b.random.randrange(-rank, rank)
    b.add("Gather", [data, b.ints(b.shape(), low=-shape[axis], high=shape[axis] - 1)], axis=axis)
    axes = b.random.sample(range(rank), b.random.randint(1, rank))
    steps = [b.random.choice([-2, -1, 1, 2]) for _ in axes]
    # No start before the first element: going backwards from there, engines differ, and it stays.
    bounds = [[b.random.choice([-1, 0, 1, 2, 9, 2**62] + low) for _ in axes] for low in ([], [-9, -2, -2**62])]
    b.add("Slice", [data] + [np.array(v, np.int64) for v in (*bounds, axes, steps)])
    b.add("Concat", [data, data, data], axis=axis)
    condition = b.ints(b.broadcastable(shape), low=0, high=1).astype(bool)
    b.add("Where", [condition, data, data[..., :1]])


def reshapes(b):
    shape = b.shape(b.random.randint(1, 3))
    data = b.ints(shape, b.random.choice(INTS))
    b.add("Reshape", [data, np.array(b.random.choice([[-1], [0, -1], [-1, 1], [1, -1, 1]]), np.int64)])
    b.add("Unsqueeze", [data, np.array(b.random.choice([[0], [-1], [0, 2], [-1, 1]]), np.int64)])
    b.add("Squeeze", [data[None], np.array([0], np.int64)])
    b.add("ConstantOfShape", [np.array(shape, np.int64)], value=numpy_helper.from_array(np.array([b.random.random()])))
    b.add("Range", [np.array(b.random.randint(-5, 5), np.int64), np.array(b.random.randint(-5, 5), np.int64),
                    np.array(b.random.choice([-3, -1, 1, 2]), np.int64)])
    b.add("Shape", [data], start=b.random.randint(-4, 4))
    b.add("Size", [data])
    b.add("Not", [data > 0])


def casts(b):
    kinds = {np.float16: TensorProto.FLOAT16, np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE,
             np.int8: TensorProto.INT8, np.uint8: TensorProto.UINT8, np.int32: TensorProto.INT32,
             np.int64: TensorProto.INT64, np.bool_: TensorProto.BOOL}
    source, target = b.random.choice(list(kinds)), b.random.choice(list(kinds))
    if source is np.bool_:
        data = b.ints([4], low=0, high=1).astype(bool)
    elif np.issubdtype(source, np.integer):
        data = b.ints([4], source, low=-128, high=127)
    else:
        # Positive where the target has no sign; rounding cases for narrow floats.
        data = (b.numpy.random(4) * b.random.choice([1.0, 100.0, 1e-6])).astype(source)
    b.add("Cast", [data], to=kinds[target])


@pytest.mark.parametrize("seed", range(3))
def test_folds_compute_what_the_operators_mean(seed, tmp_path):
    builder = Builder(seed)
    for _ in range(COUNT):
        for group in (arithmetic, moves, reshapes, casts):
            group(builder)
    model = builder.model()
    path, folded_path = tmp_path / "model.onnx", tmp_path / "folded.onnx"
    onnx.save(model, path)
    run = amp_opt(path, "--canonicalize", "-o", folded_path)
    assert run.ok, run.describe()
    folded = onnx.load(folded_path)
    left = [node.name or node.op_type for node in folded.graph.node if node.op_type not in ("Constant", "Identity")]
    assert left == []
    expected = ReferenceEvaluator(model).run(None, {})
    actual = ReferenceEvaluator(folded).run(None, {})
    for name, want, got in zip(builder.outputs, expected, actual):
        want, got = np.asarray(want), np.asarray(got)
        assert got.dtype == want.dtype and got.shape == want.shape, name
        np.testing.assert_array_equal(got, want, err_msg=name)
