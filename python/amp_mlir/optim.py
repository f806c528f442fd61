"""Optimizers: what a step is compiled with, torch.optim instances converted, and their state back and forth."""
import sys
from dataclasses import dataclass, field, fields

import numpy as np

from .errors import Error
from .state import to_numpy


@dataclass
class _Optimizer:
    """groups: dicts with `name`, `match` (a regular expression for whole parameter names), and `lr` or `weight_decay`."""

    groups: list = field(default_factory=list, kw_only=True)

    kind = None

    def config(self):
        """The object `optimizer` of train.json."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        values["betas"] = list(values.get("betas", ()))
        return {self.kind: {key: value for key, value in values.items() if value != []}}


@dataclass
class SGD(_Optimizer):
    """torch.optim.SGD."""

    lr: float = 1e-3
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    maximize: bool = False

    kind = "sgd"


@dataclass
class Adam(_Optimizer):
    """torch.optim.Adam."""

    lr: float = 1e-3
    betas: tuple = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = False
    maximize: bool = False

    kind = "adam"


@dataclass
class AdamW(Adam):
    """torch.optim.AdamW: as Adam, the decay decoupled."""

    weight_decay: float = 0.01

    kind = "adamw"


@dataclass
class Lion(_Optimizer):
    """Lion of its paper, the decay decoupled."""

    lr: float = 1e-4
    betas: tuple = (0.9, 0.99)
    weight_decay: float = 0.0
    maximize: bool = False

    kind = "lion"


@dataclass
class LAMB(_Optimizer):
    """LAMB of its paper."""

    lr: float = 1e-3
    betas: tuple = (0.9, 0.999)
    eps: float = 1e-6
    weight_decay: float = 0.0
    maximize: bool = False

    kind = "lamb"


# Options of torch.optim that say how, not what, is computed.
_HOW = {"foreach", "fused", "capturable", "differentiable", "params", "initial_lr", "decoupled_weight_decay"}


def exactly(names):
    """A regular expression for these names alone."""
    return "(" + "|".join("".join("\\" + c if c in r"\.[]{}()*+?|^$" else c for c in name) for name in names) + ")"


def _options(group):
    return {key: value for key, value in group.items() if key not in _HOW}


def convert(optimizer, names):
    """An optimizer of ours for a torch.optim instance. `names`: id of each trained tensor -> name of the parameter.

    Raises Error for optimizers other than SGD, Adam and AdamW, and for options that steps do not have, by name.
    """
    kinds = {"SGD": SGD, "Adam": Adam, "AdamW": AdamW}
    kind = kinds.get(type(optimizer).__name__)
    if kind is None:
        raise Error(f"optimizer: torch.optim.{type(optimizer).__name__} is not known; there are SGD, Adam and AdamW, and amp.LAMB and amp.Lion")
    known = {entry.name for entry in fields(kind)} - {"groups"}
    first = _options(optimizer.param_groups[0])
    for key, value in first.items():
        if key not in known and value:
            raise Error(f"optimizer: {type(optimizer).__name__} has the option {key}={value!r}, which steps do not have")
    if type(optimizer).__name__ == "Adam" and optimizer.param_groups[0].get("decoupled_weight_decay"):
        kind = AdamW
    values = {key: _number(value) for key, value in first.items() if key in known}
    return kind(**values, groups=_groups(optimizer, names, known))


def _number(value):
    """A number of a rank-0 tensor, which lr may be."""
    return float(value) if hasattr(value, "dtype") else value


def _groups(optimizer, names, known):
    if len(optimizer.param_groups) == 1:
        return []
    groups, first = [], _options(optimizer.param_groups[0])
    for number, group in enumerate(optimizer.param_groups):
        for key, value in _options(group).items():
            if key in known and key not in ("lr", "weight_decay") and value != first[key]:
                raise Error(f"optimizer: parameter group {number} has {key}={value!r} and group 0 {first[key]!r}; groups of a step may differ "
                            "in lr and weight_decay alone")
        members = [names[id(parameter)] for parameter in group["params"] if id(parameter) in names]
        if members:
            groups.append({"name": f"group{number}", "match": exactly(members), "lr": _number(group["lr"]),
                           "weight_decay": group["weight_decay"]})
    return groups


# PyTorch's names of a parameter's state, which are those of the artifact, too.
_SLOTS = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")


class StepOptimizer:
    """The optimizer's state of a step, in the form of torch.optim's state_dict.

    groups: parameter names per group, in the order of PyTorch's numbers. options: PyTorch's options per group.
    """

    def __init__(self, state, groups, options):
        self._state, self._groups, self._options = state, groups, options

    def _lr(self, number):
        return self._state.step.get_hyper(self._rate_name(number))

    def _rate_name(self, number):
        name = f"lr.group{number}"
        return name if name in self._state else "lr"

    def state_dict(self):
        """What torch.optim's load_state_dict takes: torch tensors where PyTorch is loaded, else numpy arrays, all copies."""
        applied = self._state.step.stats["applied"]
        state, numbers = {}, []
        for group in self._groups:
            numbers.append(list(range(len(state), len(state) + len(group))))
            for name in group:
                state[len(state)] = self._read(name, applied)
        groups = [dict(options, lr=self._lr(i), params=numbers[i]) for i, options in enumerate(self._options)]
        return {"state": {number: slots for number, slots in state.items() if slots}, "param_groups": groups}

    def _read(self, name, applied):
        if applied == 0:
            return {}
        slots = {slot: _out(self._state.read(f"{slot}.{name}")) for slot in _SLOTS if f"{slot}.{name}" in self._state}
        if "exp_avg_sq" in slots:
            slots = {"step": _out(np.array(applied, np.float32))} | slots
        return slots

    def load_state_dict(self, state):
        """Takes a torch.optim state_dict: moments, step count and learning rates. Raises Error, and then has changed nothing, when
        a parameter's state is missing or of another shape, or when parameters were updated a different number of times."""
        names = [name for group in self._groups for name in group]
        writes, steps = [], set()
        for number, name in enumerate(names):
            slots = state["state"].get(number, {})
            if "step" in slots:
                steps.add(int(slots["step"]))
            for slot in (slot for slot in _SLOTS if f"{slot}.{name}" in self._state):
                if slots.get(slot) is None:
                    if slots and slot != "momentum_buffer":
                        raise Error(f"the optimizer's state_dict has no {slot} for '{name}' (number {number})")
                    writes.append((f"{slot}.{name}", 0.0))
                    continue
                value = to_numpy(slots[slot])
                self._state.check(f"{slot}.{name}", value, "state_dict")
                writes.append((f"{slot}.{name}", value))
        if len(steps) > 1:
            raise Error(f"the parameters were updated {sorted(steps)} times; a step counts for all of them alike")
        if len(state["param_groups"]) != len(self._groups):
            raise Error(f"the state_dict has {len(state['param_groups'])} parameter groups, but the step has {len(self._groups)}")
        for name, value in writes:
            self._state.write(name, value)
        # SGD has no count of its own; its first step initialises the momentum.
        count = steps.pop() if steps else (1 if any(isinstance(value, np.ndarray) for _, value in writes) else 0)
        self._state.write("train.applied_steps", count)
        for number, group in enumerate(state["param_groups"]):
            self._state.step.set_hyper(self._rate_name(number), _number(group["lr"]))


def _out(array):
    torch = sys.modules.get("torch")
    return torch.from_numpy(array) if torch else array

