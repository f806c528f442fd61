"""Gradients of ONNX models by `--train-differentiate`, run as ONNX, and what they are compared with.

A case is a small graph. Its loss is the sum of its outputs, each times a random tensor, so that every cotangent is that tensor.
Gradients are compared with central differences in float64 along random directions.
"""
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import reference_ops
from harness import amp_opt

OPSET = 26


@dataclass
class Case:
    """`nodes` compute `outputs` from `inputs`; `wrt` names the inputs to differentiate by (default: all floats). `constants` are
    initializers. `fixed` names those whose type is not that of the case."""
    name: str
    nodes: list
    inputs: dict
    outputs: list
    wrt: list = None
    constants: dict = field(default_factory=dict)
    fixed: tuple = ()

    def __post_init__(self):
        if self.wrt is None:
            self.wrt = [name for name, value in self.inputs.items() if is_float(value)]

    def __str__(self):
        return self.name


def is_float(value):
    return np.asarray(value).dtype.kind == "f"


def node(op_type, inputs, outputs="y", **attributes):
    """A node whose inputs and outputs are given as `a b c`; `-` stands for an absent one."""
    names = [["" if name == "-" else name for name in text.split()] for text in (inputs, outputs)]
    return helper.make_node(op_type, *names, name=f"{op_type}_{names[1][0] or names[1][-1]}", **attributes)


def run_reference(model, feeds):
    """Outputs by name, from onnx.reference with our versions of some operators."""
    from onnx.reference import ReferenceEvaluator
    with np.errstate(all="ignore"):
        results = ReferenceEvaluator(model, new_ops=reference_ops.OPERATORS).run(None, feeds)
    return dict(zip([output.name for output in model.graph.output], results))


def _cast(values, dtype, through, fixed=()):
    return {name: value.astype(through).astype(dtype) if is_float(value) and name not in fixed else value for name, value in values.items()}


def build_model(case, dtype=np.float64, seed=0, through=None):
    """The case's graph, with the loss as its last output, and the feeds, all floats as `dtype`, rounded to `through` before."""
    through = through or dtype
    inputs, constants = _cast(case.inputs, dtype, through), _cast(case.constants, dtype, through, case.fixed)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        case.nodes, "case",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
         for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name in case.outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)
    forward = run_reference(model, inputs)
    random = np.random.default_rng(seed)
    parts = []
    for output in case.outputs:
        size = forward[output].size
        weights = random.standard_normal((size, 1)).astype(through).astype(dtype)
        graph_constants = {f"{output}.weights": weights, f"{output}.row": np.array([1, size]), "scalar": np.array([], np.int64)}
        known = {tensor.name for tensor in model.graph.initializer}
        model.graph.initializer.extend(
            numpy_helper.from_array(value, name) for name, value in graph_constants.items() if name not in known)
        model.graph.node.extend([node("Reshape", f"{output} {output}.row", f"{output}.flat"),
                                 node("MatMul", f"{output}.flat {output}.weights", f"{output}.sum"),
                                 node("Reshape", f"{output}.sum scalar", f"{output}.loss")])
        parts.append(f"{output}.loss")
    total = parts[0]
    for number, part in enumerate(parts[1:]):
        model.graph.node.append(node("Add", f"{total} {part}", f"total.{number}"))
        total = f"total.{number}"
    for item in model.graph.node:
        item.output[:] = ["loss" if name == total else name for name in item.output]
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("loss", kind, []))
    return model, inputs


def differentiate(model, wrt, options=()):
    """The model with one more output `grad.<input>` for each of `wrt`."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.onnx", Path(folder) / "gradients.onnx"
        onnx.save(model, source)
        run = amp_opt(source, "--onnx-infer-types", f"--train-differentiate=loss=loss wrt={','.join(wrt)}", *options,
                      "--decompose-train=to-onnx", "-o", target)
        assert run.ok, run.describe()
        return onnx.load(target)


def gradients(case, dtype=np.float64, engine=run_reference, seed=0, through=None):
    """Gradients by the names of the inputs, with everything in `dtype`."""
    model, feeds = build_model(case, dtype, seed, through)
    results = engine(differentiate(model, case.wrt), feeds)
    return {name: results[f"grad.{name}"] for name in case.wrt}


def check_against_differences(case, step=1e-5, tolerance=1e-6, seed=0, directions=2, dtype=np.float64):
    """<gradient, direction> against (loss(x + h) - loss(x - h)) / 2h for each input alone."""
    model, feeds = build_model(case, dtype, seed)
    results = run_reference(differentiate(model, case.wrt), feeds)
    random = np.random.default_rng(seed + 1)
    for name in case.wrt:
        gradient = results[f"grad.{name}"]
        assert gradient.shape == feeds[name].shape and gradient.dtype == dtype, (name, gradient.shape, gradient.dtype)
        for _ in range(directions):
            direction = random.standard_normal(feeds[name].shape).astype(dtype)
            losses = [float(run_reference(model, {**feeds, name: feeds[name] + sign * step * direction})["loss"])
                      for sign in (1, -1)]
            expected, found = (losses[0] - losses[1]) / (2 * step), float((gradient * direction).sum())
            scale = max(1.0, np.abs(gradient).max() * np.sqrt(gradient.size))
            assert abs(found - expected) <= tolerance * scale, f"{case}: d/d{name} is {found}, differences give {expected}"


def cotangents(case, dtype=np.float64, seed=0):
    """The cotangent of each output, flat, as `build_model` draws it."""
    model, _ = build_model(case, dtype, seed)
    return {tensor.name.removesuffix(".weights"): numpy_helper.to_array(tensor)
            for tensor in model.graph.initializer if tensor.name.endswith(".weights")}
