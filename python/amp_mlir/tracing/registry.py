"""The table of rules: one function for each aten overload.

A rule takes an `Emit` and the operator's arguments in schema order, as far as it has parameters for them; an argument beyond
that must have its default. Arguments that say nothing about values (device, layout, memory format, generator) are left out.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Callable

from .errors import Refusal

CUDA, CPU = "torch-cuda", "torch-cpu"

_IGNORED = {"layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "copy", "implicit", "cudnn_enable",
            "cudnn_enabled", "deterministic"}


@dataclass(frozen=True)
class Rule:
    """How one overload is written in ONNX.

    function: the rule. arity: how many arguments it takes. inverse: for a view, `inverse(emit, base, new, *arguments)` gives the
    base after `new` was written to the view; None for other operators. composite: the kernel computes in float32 and rounds
    once, and so does what the rule writes. effect: the rule takes cells, not tensors, and may write to them. wide: policies that list the operator as float32, where the result of a
    composite stays wide.
    """

    name: str
    function: Callable
    arity: int
    inverse: Callable | None = None
    composite: bool = False
    effect: bool = False
    wide: tuple = ()


RULES: dict[str, Rule] = {}


def _add(names, function, **facts):
    arity = len(inspect.signature(function).parameters) - 1
    for name in names:
        full = f"aten.{name}" if "." in name else f"aten.{name}.default"
        assert full not in RULES, f"two rules for {full}"
        RULES[full] = Rule(full, function, arity, **facts)


def rule(*names, composite=False, wide=()):
    """The decorated function is the rule of `names` ('add.Tensor'; without a dot the default overload)."""
    def register(function):
        _add(names, function, composite=composite, wide=wide)
        return function
    return register


def composite(*names, wide=()):
    """A rule of several ONNX operators where PyTorch has one kernel."""
    return rule(*names, composite=True, wide=wide)


def effect(*names):
    """A rule of an operator that changes some of its operands."""
    def register(function):
        _add(names, function, effect=True)
        return function
    return register


def view(*names, inverse):
    """A rule whose result shares memory with its first argument."""
    def register(function):
        _add(names, function, inverse=inverse)
        return function
    return register


def find(target):
    """The rule of an OpOverload or None, and whether the overload works in place of that rule's operator."""
    name = str(target)
    if name in RULES:
        return RULES[name], False
    if target._schema.is_mutable:
        for functional in _functional_names(target):
            if functional in RULES:
                return RULES[functional], True
    return None, False


def _functional_names(target):
    """aten.add_.Tensor -> aten.add.Tensor; some are only spelled with the default overload."""
    packet = target._schema.name.split("::")[1]
    if packet.endswith("_") and not packet.endswith("__"):
        packet = packet[:-1]
        yield f"aten.{packet}.{target._overloadname}"
        yield f"aten.{packet}.default"


def bind(rule: Rule, target, args, kwargs):
    """The arguments the rule takes, in schema order with defaults filled in."""
    bound, names = [], []
    for index, argument in enumerate(target._schema.arguments):
        if argument.name in _IGNORED:
            continue
        given = index < len(args) and not argument.kwarg_only
        value = args[index] if given else kwargs.get(argument.name, argument.default_value)
        if len(bound) < rule.arity:
            bound.append(value)
        elif value is not None and value != argument.default_value:
            raise Refusal(f"{argument.name}={value} is not supported")
    return bound
