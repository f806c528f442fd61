"""Compiled steps: calling them, their state, their report."""
import os
import sys
import weakref
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _runtime
from .dtypes import bfloat16_array
from .errors import Error
from .optim import StepOptimizer
from .scaler import StepScaler
from .state import State, to_numpy

# Rows of the log that report() shows: of the last calls.
_LOG_ROWS = 100_000


@dataclass
class StepFacts:
    """What a training step knows of its optimizer and scaler. scaler: the manifest's object. groups, options: parameter names
    and PyTorch's options per parameter group, in PyTorch's order. linked: the torch.optim instance whose rates are followed."""

    scaler: dict
    groups: list
    options: list
    linked: Any = None


def _is_torch(value):
    return type(value).__module__.partition(".")[0] == "torch" or ("torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor))


class StepOutput:
    """What one call gave: numbers, and the model's outputs by name (`out["logits"]` or `out.logits`), not copied.

    Outputs are torch tensors if the first input was one, else numpy arrays.
    """

    __slots__ = ("_result", "_torch", "_dtypes", "_meta")

    def __init__(self, result, torch, dtypes, meta):
        self._result, self._torch, self._dtypes, self._meta = result, torch, dtypes, meta

    loss = property(lambda self: self._result.loss, doc="The loss, never scaled; NaN for a call that computes none.")
    grad_norm = property(lambda self: self._result.grad_norm, doc="Norm of the unscaled gradients, before clipping.")
    skipped = property(lambda self: self._result.skipped, doc="Whether a gradient was not finite, so that nothing was updated.")
    names = property(lambda self: self._result.names, doc="Names of the outputs.")

    @property
    def scale(self):
        """The loss scale after the call; 1.0 without scaling."""
        scale = self._result.scale
        return scale if scale == scale else 1.0

    def __getitem__(self, name):
        if self._torch:
            return sys.modules["torch"].from_dlpack(self._result.output(name, False))
        array = self._result.output(name, True)
        return bfloat16_array(array) if self._dtypes[name] == "bf16" else array

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._result.names:
            raise AttributeError(f"there is no output '{name}'; the outputs are {', '.join(self._result.names) or 'none'}")
        return self[name]

    @property
    def outputs(self):
        """All outputs by name."""
        return {name: self[name] for name in self._result.names}

    @property
    def value(self):
        """The outputs as the module returns them; of an ONNX model the one output, or all by name."""
        if self._meta is not None and self._meta.output_spec is not None:
            from torch.utils import _pytree as pytree
            return pytree.tree_unflatten([name and self[name] for name in self._meta.outputs], self._meta.output_spec)
        names = self._result.names
        return self[names[0]] if len(names) == 1 else self.outputs

    def __repr__(self):
        return f"StepOutput(loss={self.loss:.6g}, grad_norm={self.grad_norm:.6g}, scale={self.scale:g}, skipped={self.skipped}, names={self.names})"


class _Compiled:
    """What training steps and inference have in common."""

    def __init__(self, opened, module_source, meta=None, autocast_report=None):
        self._step, self._compile_report, self._autocast_report = opened.step, opened.report, autocast_report
        self._source, self._meta = module_source, meta
        self._finalizer = weakref.finalize(self, opened.close)
        self._entries = self._step.entries
        self._names = {name: [row["name"] for row in entry["inputs"]] for name, entry in self._entries.items()}
        self._dtypes = {row["name"]: row["dtype"] for entry in self._entries.values() for row in entry["outputs"]}
        given = [] if meta is None else [*meta.inputs, *meta.labels]
        # None: the artifact's order is the caller's.
        self._order = {name: None if not given or [n for n in given if n in names] == names else [n for n in given if n in names]
                       for name, names in self._names.items()}
        self._state = State(self._step)
        self._roles = self._state.roles

    def _run(self, entry, args, kwargs):
        names = self._names.get(entry)
        if names is None:
            raise Error(f"the step has no '{entry}'; it has {', '.join(self._names)}")
        if len(args) + len(kwargs) != len(names):
            args = self._flatten(args, names)
        order = self._order[entry]
        if order is not None:
            args, kwargs = (), dict(zip(order, args)) | kwargs
        result = self._step.run(entry, args, kwargs)
        first = args[0] if args else next(iter(kwargs.values()), None)
        return StepOutput(result, _is_torch(first), self._dtypes, self._meta)

    def _flatten(self, args, names):
        """Tensors inside lists, tuples and dicts, in the order that the module was traced with."""
        if len(args) == 1 and isinstance(args[0], dict) and self._meta is None:
            missing = [name for name in names if name not in args[0]]
            if missing:
                raise Error(f"the input '{missing[0]}' is missing; there are {', '.join(names)}")
            return tuple(args[0][name] for name in names)
        if self._meta is None:
            return args
        from torch.utils import _pytree as pytree
        return tuple(leaf for leaf in pytree.tree_leaves(args) if hasattr(leaf, "__dlpack__"))

    # State ----------------------------------------------------------------------------------------

    def _paths(self):
        """Name in the artifact of everything a state_dict has."""
        stored = [*self._roles.get("parameter", ()), *self._roles.get("buffer", ())]
        if self._meta is None:
            return {name: name for name in stored}
        named = self._meta.parameters | self._meta.frozen | self._meta.buffers
        paths = {path: name for name, path in named.items()} | self._meta.tied
        return {path: name for path, name in paths.items() if name in stored}

    def parameters(self):
        """The trained parameters by name, as arrays over the step's own memory: writing sets them. They speak DLPack. (For a
        CUDA device there are none: use state_dict.)"""
        return {name: self._step.view(name) for name in self._roles.get("parameter", ())}

    def buffers(self):
        """The state of the model that is not trained (running statistics), likewise."""
        return {name: self._step.view(name) for name in self._roles.get("buffer", ())}

    def state_dict(self):
        """Copies of the parameters and buffers that are computed with, by the names the module or file gives them: torch tensors
        for a torch module."""
        return {path: self._state.read(name, torch=self._meta is not None) for path, name in self._paths().items()}

    def load_state_dict(self, state, strict=True):
        """Sets parameters and buffers. strict: missing and unknown names are errors. Nothing is changed when there is an error."""
        paths = self._paths()
        missing = [path for path in paths if path not in state]
        unknown = [path for path in state if path not in paths and not self._is_unused(path)]
        if strict and (missing or unknown):
            raise Error("the state_dict does not fit: " + "; ".join(
                f"{what} {', '.join(found[:8])}{' and more' if len(found) > 8 else ''}" for what, found in
                (("it lacks", missing), ("not in the step:", unknown)) if found))
        self._write({paths[path]: value for path, value in state.items() if path in paths}, "state_dict")

    def _is_unused(self, path):
        """Whether the module has a tensor of that name that its computation does not use."""
        meta = self._meta
        known = () if meta is None else (meta.parameters, meta.frozen, meta.buffers, meta.tied, getattr(meta, "unused", ()))
        return any(path in names for names in known)

    def _write(self, values, what):
        values = {name: to_numpy(value) for name, value in values.items()}
        for name, value in values.items():
            self._state.check(name, value, what)
        for name, value in values.items():
            self._state.write(name, value)

    def copy_to(self, model):
        """Writes parameters and buffers into a torch module that has them by name. Raises Error for names it does not have."""
        import torch
        targets, paths = self._targets(model), self._paths()
        for path, name in paths.items():
            self._state.check(name, targets[path], "module")
        with torch.no_grad():
            for path, name in paths.items():
                targets[path].copy_(self._state.read(name, torch=True))

    def copy_from(self, model):
        """Takes parameters and buffers of a torch module. Nothing is changed when one is missing or of another shape."""
        targets = self._targets(model)
        self._write({name: targets[path] for path, name in self._paths().items()}, "module")

    def _targets(self, model):
        """The module's tensors; all that the step has are among them."""
        targets = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers(remove_duplicate=False))
        missing = [path for path in self._paths() if path not in targets]
        if missing:
            raise Error(f"the module has no {', '.join(missing[:8])}")
        return targets

    def save(self, path, *, weights_only=False, plain_names=False):
        """Writes a checkpoint (.safetensors or .npz); the file appears whole or not at all. plain_names: as a torch state_dict."""
        self._step.save(os.fspath(path), (_runtime.WEIGHTS_ONLY if weights_only else 0) | (_runtime.PLAIN_NAMES if plain_names else 0))

    def load(self, path, *, weights_only=False, allow_missing=False, cast=False, any_fingerprint=False):
        """Reads a checkpoint: safetensors, npz or a torch .pt file of tensors. Nothing is changed when it fails."""
        flags = {_runtime.LOAD_WEIGHTS_ONLY: weights_only, _runtime.LOAD_ALLOW_MISSING: allow_missing, _runtime.LOAD_CAST: cast,
                 _runtime.LOAD_ANY_FINGERPRINT: any_fingerprint}
        self._step.load(os.fspath(path), sum(flag for flag, wanted in flags.items() if wanted))

    def reset(self):
        """Sets all state back to what the step was compiled with."""
        self._step.reset()

    # Facts ----------------------------------------------------------------------------------------

    @property
    def entries(self):
        """What can be run: {entry: {"inputs": [...], "outputs": [...]}} with names, dtypes and shapes."""
        return self._entries

    @property
    def copies(self):
        """How often each input was copied because it was not contiguous."""
        return self._step.copies

    def set_threads(self, threads):
        """Threads of the next calls; 0: one per core. Results do not depend on it."""
        self._step.set_threads(threads)

    def _report(self, **parts):
        from .report import Report
        return Report(autocast=self._autocast_report, compile=self._compile_report, title=Path(self._source).name, **parts)

    def report(self):
        """What was decided and compiled, as a Report."""
        return self._report()


class Inference(_Compiled):
    """A compiled model: call it with its inputs, by position or name."""

    def __call__(self, *args, **kwargs):
        """The outputs as the module returns them; of an ONNX model the one output, or all by name."""
        return self._run("infer", args, kwargs).value


class TrainingStep(_Compiled):
    """A compiled training step: `out = step(x, y)` is forward, backward and update.

    Calls may come from any thread and run one after the other. `scaler` and `optimizer` hold PyTorch's state_dicts.
    """

    def __init__(self, opened, module_source, meta, facts):
        super().__init__(opened, module_source, meta)
        groups = facts.groups or [self._roles.get("parameter", [])]
        self.scaler = StepScaler(self._state, facts.scaler)
        self.optimizer = StepOptimizer(self._state, groups, facts.options)
        self._linked = facts.linked
        self._rates = [name for name in self._roles.get("hyper", ()) if name == "lr" or name.startswith("lr.")]
        self._seen = None if self._linked is None else [group["lr"] for group in self._linked.param_groups]
        self._log = deque(maxlen=_LOG_ROWS)

    def __call__(self, *args, **kwargs):
        """One training step. The inputs of the model come first, then those of the loss. Raises Error, which names the argument."""
        if self._linked is not None:
            self._follow()
        out = self._run("train_step", args, kwargs)
        result = out._result
        self._log.append((result.iteration, result.loss, result.scale, result.skipped, result.grad_norm))
        return out

    def eval(self, *args, **kwargs):
        """Loss and outputs in evaluation mode; nothing is updated."""
        return self._run("eval_step", args, kwargs)

    def infer(self, *args, **kwargs):
        """The outputs in evaluation mode, as the module returns them; without labels."""
        return self._run("infer", args, kwargs).value

    # Learning rate --------------------------------------------------------------------------------

    def _follow(self):
        """Takes learning rates that a scheduler wrote into the torch.optim instance the step was compiled with."""
        rates = [group["lr"] for group in self._linked.param_groups]
        if rates != self._seen:
            self._set_rates([float(rate) for rate in rates])
            self._seen = rates
        # Schedulers warn where no step of the optimizer has come before theirs.
        self._linked._opt_called = True

    def _set_rates(self, rates):
        if len(self._linked.param_groups) == 1:
            self._step.set_hyper("lr", rates[0])
            return
        for number, rate in enumerate(rates):
            if f"lr.group{number}" in self._rates:
                self._step.set_hyper(f"lr.group{number}", rate)

    @property
    def lr(self):
        """The learning rate of the next call; with parameter groups {hyper-parameter: rate}. Setting takes a number, for all
        groups, or such a dict, and takes the rates from the schedule; `follow_schedule` gives them back."""
        rates = {name: self._step.get_hyper(name) for name in self._rates}
        return next(iter(rates.values())) if len(rates) == 1 else rates

    @lr.setter
    def lr(self, value):
        rates = value if isinstance(value, dict) else dict.fromkeys(self._rates, value)
        for name, rate in rates.items():
            self._step.set_hyper(name, float(rate))
        if self._linked is not None:
            for number, group in enumerate(self._linked.param_groups):
                group["lr"] = rates.get(f"lr.group{number}", rates.get("lr", group["lr"]))
            self._seen = [group["lr"] for group in self._linked.param_groups]

    def follow_schedule(self):
        """Gives the learning rates back to the schedule the step was compiled with."""
        self._step.follow_schedule()

    # Facts ----------------------------------------------------------------------------------------

    @property
    def stats(self):
        """Counters and the numbers of the last call: applied, skipped, iteration, loss, scale, grad_norm, found_inf."""
        return self._step.stats

    def first_nonfinite(self):
        """The parameter whose gradient was not finite first in the last call, in the order backward makes them; None if all were."""
        if not self._step.stats["found_inf"]:
            return None
        flags = [name for name in self._roles.get("metric", ()) if name.startswith("found_inf.")]
        return next((name.removeprefix("found_inf.") for name in flags if self._state.read(name)), None)

    def report(self):
        """What was decided and compiled, and the log of the calls so far, as a Report."""
        keys = ("step", "loss", "scale", "skipped", "grad_norm")
        return self._report(log=[dict(zip(keys, row)) for row in self._log])

