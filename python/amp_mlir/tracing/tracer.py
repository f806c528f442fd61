"""The graph of a module: its signature, the walk over its operators, its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree

from . import rules  # noqa: F401 (fills the table)
from .emit import Size, Tensor, dtype_name
from .errors import Refusal, TraceError
from .export import Program, export
from .registry import CPU, CUDA
from .storage import Cell
from .walk import Walk


@dataclass
class Meta:
    """What a traced graph's names mean.

    inputs, labels: names of the arguments, in the order of the module's (flattened) and the loss's. outputs: names of the results
    the module returned, in order (None for one that is not a tensor), and `output_spec` to put them together again
    (torch.utils._pytree). parameters, buffers, frozen: name -> module path of trained parameters, of buffers, of parameters
    that need no gradient. tied: further module path -> name. mutated: buffer's name -> name of the result that holds its next
    value. has_regions: there are autocast regions. has_casts: the program came with autocast's casts written out, and stands
    in a region that casts nothing.
    """

    inputs: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    output_spec: Any = None
    parameters: dict[str, str] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    frozen: dict[str, str] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)
    mutated: dict[str, str] = field(default_factory=dict)
    has_loss: bool = False
    has_regions: bool = False
    has_casts: bool = False


@dataclass
class Traced:
    """module: what GraphBuilder.finish() gave."""

    module: Any
    meta: Meta


def trace(module, args, kwargs=None, *, loss: Callable | None = None, labels=(), dynamic_shapes=None, policy: str | None = None,
          constants: bool = False, name: str | None = None, builder: Callable | None = None) -> Traced:
    """Traces `module`, called as module(*args, **kwargs), into the onnx and amp dialects.

    module: an nn.Module, traced in the mode it is in, or an ExportedProgram. loss: called as loss(outputs, *labels) inside the
    graph; its value is the first result. dynamic_shapes: as torch.export has it. policy: of the autocast around the whole program
    (a name or a path), None without one; regions in the program say their own. constants: parameters and buffers that nothing writes to
    are constants of the graph, as for inference; else they are arguments with their role. builder: makes a GraphBuilder of a
    name. Raises UnsupportedOps with all operators that have no rule, TraceError for anything else.
    """
    program = export(module, args, kwargs, loss=loss, labels=labels, dynamic_shapes=dynamic_shapes)
    builder = builder or _default_builder()
    name = name or type(module).__name__
    traced = _Tracer(program, builder(name), policy, set() if constants else None).run()
    if constants and traced.meta.mutated:
        # Only the walk tells which buffers are written to; those are arguments.
        traced = _Tracer(program, builder(name), policy, set(traced.meta.mutated)).run()
    return traced


def _default_builder():
    from .. import _amp
    return _amp.GraphBuilder


class _Tracer:
    """state: names of the parameters and buffers that are arguments; None for all."""

    def __init__(self, program: Program, builder, policy, state):
        self.program, self.builder, self.policy, self.state = program, builder, policy, state
        # Other policies place casts themselves: rules need not follow PyTorch's kernels there.
        self.walk = Walk(builder, policy if policy in (CPU, CUDA) else None, program.prefix)
        self.meta = Meta(inputs=[n for n in program.inputs if n not in program.labels], labels=program.labels, has_loss=program.has_loss)
        self.cells, self.by_tensor = {}, {}

    def run(self):
        exported = self.program.exported
        device = _device_of_regions(exported)
        self.meta.has_casts = device is None and _has_casts(exported)
        arguments = [self.argument(spec, node) for spec, node in zip(exported.graph_signature.input_specs, _placeholders(exported))]
        if self.meta.has_casts or (device and self.policy is None):
            # Outside the program's own regions, and around casts that are written out, autocast is off.
            results = self.walk.run_region(device or "cpu", None, False, exported.graph_module, arguments)
        else:
            results = self.walk.run(exported.graph_module, arguments)
        self.walk.finish()
        self.meta.has_regions = self.walk.has_regions or self.meta.has_casts
        self.find_tied()
        self.add_outputs(list(results))
        self.add_buffers()
        return Traced(self.builder.finish(), self.meta)

    # Arguments ------------------------------------------------------------------------------------

    def argument(self, spec, node):
        kind = spec.kind.name
        if kind == "USER_INPUT":
            return self.user_input(spec, node)
        exported = self.program.exported
        if kind == "PARAMETER":
            return self.stateful(spec.target, exported.state_dict[spec.target])
        if kind == "BUFFER":
            source = exported.state_dict if spec.persistent else exported.constants
            return self.stateful(spec.target, source[spec.target])
        if kind == "CONSTANT_TENSOR":
            return Cell(self.walk.constant(exported.constants[spec.target]), name=spec.target)
        raise TraceError(f"the program takes '{spec.arg.name}', an argument of kind {kind.lower()}, which is not supported")

    def user_input(self, spec, node):
        value = node.meta.get("val")
        name = self.user_names().pop(0)
        if not isinstance(value, torch.Tensor):
            return value
        shape = [size if isinstance(size, int) else self.symbol(size) for size in value.shape]
        role = "label" if name in self.meta.labels else "input"
        try:
            dtype = dtype_name(value.dtype)
        except Refusal as refusal:
            raise TraceError(f"the input '{name}': {refusal}") from None
        return self.new_cell(self.builder.input(name, dtype, shape, role=role), value.shape, name)

    def user_names(self):
        if not hasattr(self, "_names"):
            self._names = list(self.program.inputs)
        return self._names

    def symbol(self, size):
        text = str(size.node.expr)
        return self.program.symbols.get(text, text)

    def new_cell(self, value, shape, name):
        cell = Cell(Tensor(self.walk.emit, value, shape), name=name)
        self.cells[name] = cell
        return cell

    def stateful(self, target, tensor):
        """A parameter or buffer by its module path; one that is known under another path is that one."""
        path = target.removeprefix(self.program.prefix)
        known = self.by_tensor.get(id(tensor))
        if known is not None:
            return self.cells[known]
        self.by_tensor[id(tensor)] = path
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        kind = self.meta.buffers if not is_parameter else self.meta.parameters if tensor.requires_grad else self.meta.frozen
        kind[path] = path
        if self.state is not None and path not in self.state:
            cell = Cell(self.named_constant(path, tensor), name=path)
            self.cells[path] = cell
            return cell
        role = "parameter" if is_parameter and tensor.requires_grad else "buffer"
        array = _array(tensor)
        value = self.builder.input(path, dtype_name(tensor.dtype), list(tensor.shape), role=role, init=array)
        return self.new_cell(value, tensor.shape, path)

    def find_tied(self):
        """The further paths under which the module knows its tensors."""
        for target, tensor in self.program.exported.state_dict.items():
            path, known = target.removeprefix(self.program.prefix), self.by_tensor.get(id(tensor))
            if known not in (None, path):
                self.meta.tied[path] = known

    def named_constant(self, path, tensor):
        value = self.builder.initializer(path, _array(tensor))
        return Tensor(self.walk.emit, value, tensor.shape)

    # Results --------------------------------------------------------------------------------------

    def add_outputs(self, results):
        spec = self.program.exported.module_call_graph[0].signature.out_spec
        self.meta.output_spec = spec
        names = _output_names(spec, len(results))
        if self.program.has_loss:
            loss = results.pop(0)
            self.check_loss(loss)
            self.builder.output(loss.read().value, "loss", role="loss")
            self.meta.output_spec = spec.child(1)
            names = _output_names(self.meta.output_spec, len(results))
        taken = set(self.cells) | {"loss"}
        for result, output in zip(results, names):
            if not isinstance(result, (Cell, Size)):
                self.meta.outputs.append(None)
                continue
            while output in taken:
                output += ".out"
            taken.add(output)
            value = result.read() if isinstance(result, Cell) else result.tensor
            self.builder.output(self.fresh(value).value, output, role="output")
            self.meta.outputs.append(output)

    def check_loss(self, loss):
        if not isinstance(loss, Cell):
            raise TraceError("the loss function did not return a tensor")
        value = loss.read()
        if not value.is_float or any(size != 1 for size in value.shape):
            raise TraceError(f"the loss function returned {value.dtype} of shape {list(value.shape)}; it has to return one float: use mean() "
                             "or sum()")
        if value.rank:
            loss._value = self.walk.emit.reshape(value, [])

    def fresh(self, value):
        """An argument that is returned as it came is copied: results have their own memory."""
        is_argument = any(value.value is cell._value.value for cell in self.cells.values())
        return self.walk.emit.op("Identity", value) if is_argument else value

    def add_buffers(self):
        """The next values of what was written to."""
        for name, cell in self.cells.items():
            if not cell.version:
                continue
            if name in self.meta.inputs or name in self.meta.labels:
                raise TraceError(f"the program writes to its input '{name}' in place; write to a clone() of it")
            if name in self.meta.parameters:
                raise TraceError(f"the program writes to the parameter '{name}' in place, which the optimizer updates; use a buffer")
            self.meta.mutated[name] = f"next.{name}"
            if self.state is None or name in self.state:
                self.builder.output(self.fresh(cell.read()).value, f"next.{name}", role="buffer", alias=name)


def _array(tensor):
    """The tensor's own memory: an array where NumPy knows its type."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor
    return tensor.numpy()


def _placeholders(exported):
    return [node for node in exported.graph.nodes if node.op == "placeholder"]


def _output_names(spec, count):
    """'output', or paths into the structure that the module returns."""
    marks = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    names = []
    for path, _ in pytree.tree_flatten_with_path(marks)[0]:
        parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))) for key in path]
        names.append(".".join(["output", *parts]) if not parts or parts[0].isdigit() else ".".join(parts))
    return names[:count]


def _device_of_regions(exported):
    """The device of the program's first autocast region; None if it has none."""
    for module in exported.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if str(node.target) == "wrap_with_autocast":
                return node.args[0]
    return None


def _has_casts(exported):
    """Whether autocast's casts are written out: decompositions leave _to_copy to a half type and no regions."""
    half = (torch.float16, torch.bfloat16)
    return any(str(node.target) == "aten._to_copy.default" and node.kwargs.get("dtype") in half for node in exported.graph.nodes)
