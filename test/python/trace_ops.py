"""Runs one aten overload through its rule: a graph of one node, without torch.export; and runs modules that were traced."""

import tempfile
from pathlib import Path

import onnx
import torch
from torch import fx

from amp_mlir.tracing import rules  # noqa: F401 (fills the table)
from amp_mlir.tracing.registry import RULES
from amp_mlir.tracing.storage import Cell
from amp_mlir.tracing.emit import Tensor, dtype_name
from amp_mlir.tracing.walk import Walk


def overload(name):
    packet, _, which = name.removeprefix("aten.").partition(".")
    return getattr(getattr(torch.ops.aten, packet), which or "default")


def full_name(name):
    return f"aten.{name}" if "." in name else f"aten.{name}.default"


def split(case):
    return (case[:-1], case[-1]) if case and isinstance(case[-1], dict) else (case, {})


def tensors_of(value):
    """The tensors of a case, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        yield from tensors_of(list(value.values()))


def replace(value, copies):
    """The case with each tensor's copy."""
    if isinstance(value, torch.Tensor):
        return copies[id(value)]
    if isinstance(value, dict):
        return {key: replace(item, copies) for key, item in value.items()}
    return type(value)(replace(item, copies) for item in value) if isinstance(value, (list, tuple)) else value


def leaves(case):
    """The tensors of a case and a copy of each, by identity."""
    tensors = list(tensors_of(case))
    return tensors, {id(tensor): tensor.clone() for tensor in tensors}


def one_node(name, case):
    """A graph module that calls the overload, its tensors in order, and PyTorch's result."""
    args, kwargs = split(case)
    graph, tensors = fx.Graph(), []

    def lift(value):
        if isinstance(value, torch.Tensor):
            node = graph.placeholder(f"x{len(tensors)}")
            node.meta["val"] = value
            tensors.append(value)
            return node
        return [lift(item) for item in value] if isinstance(value, list) else value

    target = overload(name)
    lifted, keywords = tuple(lift(a) for a in args), {key: lift(value) for key, value in kwargs.items()}
    own, own_keywords = split(replace(case, leaves(case)[1]))
    expected = target(*own, **own_keywords)
    node = graph.call_function(target, lifted, keywords)
    node.meta["val"] = expected
    graph.output(node)
    return fx.GraphModule(torch.nn.Module(), graph), tensors, expected


def build(builder, name, case, policy=None):
    """The walk over that graph: names of the outputs by position (None for what is no tensor), and tensors by input name."""
    module, tensors, expected = one_node(name, case)
    walk = Walk(builder, policy)
    cells = [Cell(Tensor(walk.emit, builder.input(f"x{index}", dtype_name(tensor.dtype), list(tensor.shape)), tensor.shape))
             for index, tensor in enumerate(tensors)]
    result = walk.run(module, cells)
    walk.finish()
    names = []
    for index, cell in enumerate(result if isinstance(result, (list, tuple)) else [result]):
        names.append(None if cell is None else f"y{index}")
        if cell is not None:
            builder.output(walk.emit.op("Identity", cell.read()).value, f"y{index}")
    return names, {f"x{index}": tensor for index, tensor in enumerate(tensors)}, expected


def build_loss(builder, module, tensors, weights):
    """A graph whose loss is the sum of the float results of `module`, each times a tensor, and the numbers of these results. float32
    inputs are parameters."""
    walk, cells = Walk(builder), []
    for index, tensor in enumerate(tensors):
        is_parameter = tensor.dtype == torch.float32
        value = builder.input(f"x{index}", dtype_name(tensor.dtype), list(tensor.shape), role="parameter" if is_parameter else "input",
                              init=tensor.numpy() if is_parameter else None)
        cells.append(Cell(Tensor(walk.emit, value, tensor.shape)))
    result = walk.run(module, cells)
    walk.finish()
    emit, loss, given = walk.emit, walk.emit.number(0, "f32"), []
    for index, (cell, weight) in enumerate(zip(result if isinstance(result, (list, tuple)) else [result], weights)):
        if cell is not None and cell.read().is_float:
            part = emit.reduce("ReduceSum", emit.cast(cell.read(), "f32") * emit.array(weight.numpy().astype("float32")), None)
            loss = loss + part
            given.append(index)
    builder.output(loss.value, "loss", role="loss")
    return builder.finish(), given


def differentiate(graph):
    """The model with one more output `grad.<input>` for each parameter."""
    graph.run_pipeline("func.func(train-differentiate,decompose-train{to-onnx=true})")
    return to_onnx(graph)


# Running ------------------------------------------------------------------------------------------

def to_onnx(module):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        module.save(str(path))
        return onnx.load(path)


def run_model(model, feeds):
    """Outputs by name, by ONNX Runtime, or by the reference implementation where that has no kernel."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    names = [output.name for output in model.graph.output]
    # The engine writes running statistics over its inputs: it gets copies.
    feeds = {name: value.copy() for name, value in feeds.items()}
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except (onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented, onnxruntime.capi.onnxruntime_pybind11_state.Fail):
        from onnx.reference import ReferenceEvaluator
        return dict(zip(names, ReferenceEvaluator(model).run(None, feeds)))
    return dict(zip(names, session.run(names, feeds)))
