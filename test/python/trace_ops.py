"""Runs one aten overload through its rule: a graph of one node, without torch.export."""

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
    copies = {id(t): t.clone() for t in tensors}
    def own(value):
        return copies[id(value)] if isinstance(value, torch.Tensor) else [own(v) for v in value] if isinstance(value, list) else value
    expected = target(*[own(a) for a in args], **{key: own(value) for key, value in kwargs.items()})
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
