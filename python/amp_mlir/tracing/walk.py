"""The walk over a traced program: each node by its rule, regions of autocast, writes in place."""

from __future__ import annotations

import operator

import torch

from .. import Error
from . import names
from .emit import Emit, Size, Tensor, dtype_name
from .errors import Refusal, TraceError, UnsupportedOps
from .registry import CPU, CUDA, bind, find
from .storage import Cell, same_memory

_DEFAULT_DTYPE = {"cuda": "f16", "cpu": "bf16"}
_POLICY = {"cuda": CUDA, "cpu": CPU}
# Autocast that is off somewhere: values may be half there, but nothing is listed.
OFF = "off"
# Checks that hold by the shapes of the graph, and calls for effects it does not have.
_DROPPED = {"aten._assert_tensor_metadata.default", "aten._assert_scalar.default", "aten._assert_async.msg", "aten._assert_async.default",
            "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default"}


_OPEN_SIZE = "gives a result whose size depends on values, which cannot be compiled; use torch.where or masked_fill"
_REASONS = {
    "aten.item.default": "reads a number from a tensor, which cannot be traced; keep it a tensor",
    **{f"aten.{name}.default": _OPEN_SIZE for name in ("nonzero", "masked_select", "unique_consecutive", "_unique2", "argwhere")},
}


class Missing:
    """In the place of a value whose operator has no rule, so that the walk finds all of them."""


MISSING = Missing()


class Region:
    """What autocast is at some place: the device it was opened for, its type, the policy that holds (OFF: none)."""

    def __init__(self, device=None, dtype=None, policy=None):
        self.device, self.dtype, self.policy = device, dtype, policy


class Walk:
    """Makes the operators of one graph module and of the submodules it calls.

    builder: a GraphBuilder. policy: of the autocast around the program, or None. prefix: of module paths, left out of names.
    """

    def __init__(self, builder, policy=None, prefix=""):
        self.builder, self.emit = builder, Emit(builder, names.Names())
        self.region, self.prefix = Region(policy=policy), prefix
        self.failures, self.has_regions, self.no_grad = [], False, False

    # Graphs ---------------------------------------------------------------------------------------

    def run(self, module, arguments):
        """Values of the graph's outputs for the cells (or ints) of its placeholders."""
        environment, placeholders = {}, iter(arguments)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                environment[node] = next(placeholders)
            elif node.op == "get_attr":
                environment[node] = self.attribute(module, node.target)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], environment.__getitem__)
            else:
                environment[node] = self.guarded(module, node, environment)
        return ()

    def attribute(self, module, target):
        for part in target.split("."):
            module = getattr(module, part)
        if isinstance(module, torch.Tensor):
            return Cell(self.constant(module))
        return module

    def constant(self, tensor):
        """A tensor of the program's own as an initializer."""
        tensor = tensor.detach().cpu().contiguous()
        if tensor.dtype == torch.bfloat16:
            return self.emit.cast(self.emit.array(tensor.float().numpy()), "bf16")
        dtype_name(tensor.dtype)
        return self.emit.array(tensor.numpy())

    def guarded(self, module, node, environment):
        """The value of a call; a refusal is noted down and the walk goes on."""
        arguments = torch.fx.node.map_arg((node.args, dict(node.kwargs)), environment.__getitem__)
        if _any_missing(arguments):
            return MISSING
        self.emit.path, self.emit.location = names.module_path(node, self.prefix), names.location(node)
        self.emit.policy = self.region.policy
        try:
            return self.call(node, *arguments)
        except (Refusal, Error) as refusal:
            self.failures.append((str(node.target), str(refusal), names.line_of(node)))
            return MISSING

    def finish(self):
        """Raises if anything was refused."""
        if self.failures:
            raise UnsupportedOps(dict.fromkeys(self.failures))

    # Calls ----------------------------------------------------------------------------------------

    def call(self, node, args, kwargs):
        target = node.target
        name = str(target)
        if target is operator.getitem:
            return args[0][args[1]]
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self.call_region(name, args)
        if name in _DROPPED:
            return None
        if name == "aten.sym_size.int":
            return self.emit.dim(args[0].read(), args[1])
        if not isinstance(target, torch._ops.OpOverload):
            return self.compute_size(target, args)
        rule, in_place = find(target)
        if rule is None:
            raise Refusal(_REASONS.get(name, "there is no rule for it"))
        bound = bind(rule, target, args, kwargs)
        if in_place or target._schema.is_mutable:
            return self.write(rule, bound, args)
        if rule.inverse:
            return self.make_view(rule, bound, node)
        result = _shaped(self.apply(rule, bound), node)
        if isinstance(result, (list, tuple)):
            return [Cell(value) if isinstance(value, Tensor) else value for value in result]
        if not isinstance(result, Tensor):
            return result
        if self.is_alias(node) and isinstance(args[0], Cell) and result.dtype == args[0].read().dtype:
            return self.alias(args[0], result)
        return Cell(result)

    def alias(self, base, result):
        """detach and its like: the same memory, but the value is what the rule made of it."""
        cell = same_memory(base)
        cell._value = result
        return cell

    def stopped(self, x, operands):
        """A result of a no_grad region: what it was made of gets no gradient."""
        if not isinstance(x, Cell) or x in operands or not x.read().is_float:
            return x
        return Cell(self.emit.stop_gradient(x.read()))

    @staticmethod
    def is_alias(node):
        """Whether PyTorch gives a result in the memory of the first operand."""
        first = node.args[0] if node.args else None
        if not isinstance(first, torch.fx.Node):
            return False
        value, base = node.meta.get("val"), first.meta.get("val")
        return isinstance(value, torch.Tensor) and isinstance(base, torch.Tensor) and torch._C._is_alias_of(value, base)

    def apply(self, rule, bound):
        """What the rule makes of tensors (not cells)."""
        if rule.effect:
            return rule.function(self.emit, *bound)
        values = _map(bound, lambda x: x.read() if isinstance(x, Cell) else x)
        if not rule.composite:
            return rule.function(self.emit, *values)
        first = next((x for x in _flat(values) if isinstance(x, Tensor) and x.is_float), None)
        policy = self.emit.policy
        wide = _map(values, lambda x: self.emit.widen(x) if isinstance(x, Tensor) and x.is_float else x)
        result = rule.function(self.emit, *wide)
        if first is None or (policy in rule.wide and first.dtype == "f32"):
            return result
        return _map(result, lambda x: self.emit.cast_like(x, first) if isinstance(x, Tensor) and x.is_float else x)

    # Views and writes -----------------------------------------------------------------------------

    def make_view(self, rule, bound, node):
        base, rest = bound[0], bound[1:]
        if isinstance(base, (list, tuple)):
            raise Refusal("a view of several tensors is not supported")
        result = _shaped(self.apply(rule, bound), node)
        if not isinstance(result, list) and not self.is_alias(node):
            return Cell(result)
        replay = self.at_this_place(lambda value: _shaped(rule.function(self.emit, value, *_read(rest)), node))
        if isinstance(result, list):
            def part(index):
                inverse = self.at_this_place(lambda old, new: rule.inverse(self.emit, old, (index, new), *_read(rest)))
                return Cell(result[index], base, lambda value: replay(value)[index], inverse)
            return [part(index) for index in range(len(result))]
        inverse = self.at_this_place(lambda old, new: rule.inverse(self.emit, old, new, *_read(rest)))
        return Cell(result, base, replay, inverse)

    def at_this_place(self, function):
        """`function`, run later under the name and the location of the current node."""
        path, location = self.emit.path, self.emit.location

        def run(*arguments):
            before = self.emit.path, self.emit.location
            self.emit.path, self.emit.location = path, location
            try:
                return function(*arguments)
            finally:
                self.emit.path, self.emit.location = before
        return run

    def write(self, rule, bound, args):
        """An operator in place: its functional form, then a write of the result."""
        target = args[0]
        if not isinstance(target, Cell):
            raise Refusal("works in place on something that is not a tensor")
        old = target.read()
        new = self.apply(rule, bound)
        if not isinstance(new, Tensor):
            raise Refusal("works in place on several tensors")
        new = self.emit.cast_like(new, old) if old.is_float else self.emit.cast(new, old.dtype)
        if new.shape != old.shape:
            new = self.emit.op("Expand", new, self.emit.vector(self.emit.dims(old)))
        target.write(self.emit.stop_gradient(new) if self.no_grad and new.is_float else new)
        return target

    # Sizes ----------------------------------------------------------------------------------------

    def compute_size(self, target, args):
        """Arithmetic on symbolic sizes."""
        kinds = {operator.add: "Add", operator.sub: "Sub", operator.mul: "Mul", operator.floordiv: "Div", operator.mod: "Mod"}
        if target in _COMPARISONS:
            return None
        if target is operator.neg:
            args, target = (0, args[0]), operator.sub
        if getattr(target, "__name__", "") in ("sym_max", "sym_min", "_sym_max", "_sym_min"):
            kinds[target] = "Max" if "max" in target.__name__ else "Min"
        if target is operator.truediv or getattr(target, "__name__", "") in ("sym_float", "_sym_float"):
            left = self.emit.like(args[0], "f32")
            return left / self.emit.like(args[1], "f32") if len(args) == 2 else left
        if target not in kinds or any(not isinstance(x, (int, Size)) for x in args):
            raise Refusal("there is no rule for it")
        left, right = (self.emit.vector([x]) for x in args)
        return Size(self.emit.op(kinds[target], left, right))

    # Regions --------------------------------------------------------------------------------------

    def call_region(self, name, args):
        if name == "wrap_with_set_grad_enabled":
            enabled, module, *operands = args
            before, self.no_grad = self.no_grad, not enabled
            try:
                results = self.run(module, operands)
            finally:
                self.no_grad = before
            return results if enabled else [self.stopped(x, operands) for x in results]
        if name != "wrap_with_autocast":
            raise Refusal("control flow and other regions inside a graph are not supported; write it without")
        device, dtype, enabled, _, module, *operands = args
        self.has_regions = True
        return self.run_region(device, dtype, enabled, module, operands)

    def run_region(self, device, dtype, enabled, module, operands):
        """Values of the outputs of `module`, computed in a region of autocast."""
        outer = self.region
        self.region, attributes = self.enter(device, dtype, enabled)
        try:
            with self.builder.autocast(**attributes):
                return self.run(module, operands)
        finally:
            self.region = outer

    def enter(self, device, dtype, enabled):
        """The region inside and the attributes of amp.autocast. Without a type it is that of the region around it, if that is of the
        same device, else the device's default."""
        if device not in _POLICY:
            raise TraceError(f"autocast regions for '{device}' are not known; those for 'cuda' and 'cpu' are")
        outer = self.region
        if dtype is not None and dtype not in (torch.float16, torch.bfloat16):
            raise TraceError(f"autocast to {dtype} is not supported; use torch.float16 or torch.bfloat16")
        inherited = outer.dtype if outer.device == device else None
        low = dtype_name(dtype) if dtype is not None else inherited or _DEFAULT_DTYPE[device]
        spelled = {"enabled": bool(enabled), "dtype": low if enabled else None, "policy": _POLICY[device]}
        return Region(device, low, _POLICY[device] if enabled else OFF), spelled


_COMPARISONS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


def _shaped(result, node):
    """Results with the sizes that torch.export knows of them."""
    value = node.meta.get("val")
    if isinstance(result, (list, tuple)):
        if isinstance(value, (list, tuple)) and len(value) == len(result):
            return [_with_shape(x, v) for x, v in zip(result, value)]
        return list(result)
    return _with_shape(result, value)


def _with_shape(x, value):
    if not isinstance(x, Tensor) or not isinstance(value, torch.Tensor):
        return x
    return Tensor(x.emit, x.value, [size if isinstance(size, int) else None for size in value.shape])


def _read(values):
    return _map(list(values), lambda x: x.read() if isinstance(x, Cell) else x)


def _flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _map(value, function):
    if isinstance(value, (list, tuple)):
        return [_map(item, function) for item in value]
    return function(value)


def _any_missing(arguments):
    args, kwargs = arguments
    return any(value is MISSING for value in _flat([args, *kwargs.values()]))
