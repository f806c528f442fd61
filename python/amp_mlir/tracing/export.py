"""torch.export with a loss around the module, and its errors in the user's terms."""

from __future__ import annotations

import inspect
import logging
import os
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils import _pytree as pytree

from .errors import TraceError
from .names import is_own


class WithLoss(nn.Module):
    """A module whose first output is the loss: loss(outputs of the model, *labels)."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, inputs, keywords, labels):
        outputs = self.model(*inputs, **keywords)
        return self.loss(outputs, *labels), outputs


@dataclass
class Program:
    """An exported program and what the export does not say.

    inputs, labels: a name for each tensor, in order. prefix: what stands before the model's own module paths. symbols: names of the
    symbolic dimensions. has_loss: the first output is the loss.
    """

    exported: torch.export.ExportedProgram
    inputs: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    prefix: str = ""
    symbols: dict[str, str] = field(default_factory=dict)
    has_loss: bool = False


def export(module, args, kwargs=None, *, loss=None, labels=(), dynamic_shapes=None) -> Program:
    """Exports `module` called as module(*args, **kwargs); with a loss, loss(outputs, *labels) is computed, too.

    A module is traced in the mode it is in (train() or eval()). dynamic_shapes is torch.export's; sizes of labels follow.
    Raises TraceError for what torch.export refuses.
    """
    if isinstance(module, torch.export.ExportedProgram):
        return _given(module, loss)
    args, kwargs, labels = tuple(args), dict(kwargs or {}), tuple(labels)
    names = _leaf_names(module.forward, args, kwargs)
    if loss is None:
        if labels:
            raise TraceError("labels are given without a loss to use them")
        shapes = dynamic_shapes
        exported = _export(module, args, kwargs, shapes)
        return Program(exported, names, symbols=_symbols(exported, (args, kwargs), dynamic_shapes, module.forward))
    by_argument = _by_argument(dynamic_shapes, module.forward, args, kwargs)
    shapes = None
    if dynamic_shapes is not None:
        shapes = {"inputs": by_argument[0], "keywords": by_argument[1], "labels": pytree.tree_map(_automatic, labels)}
    exported = _export(WithLoss(module, loss), (args, kwargs, labels), {}, shapes)
    label_names = _label_names(loss, labels, names)
    symbols = _symbols(exported, (args, kwargs), by_argument, None)
    return Program(exported, names + label_names, label_names, "model.", symbols, True)


def _given(exported, loss):
    if loss is not None:
        raise TraceError("a program that is exported already cannot get a loss; give the module itself")
    names = [spec.arg.name for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    return Program(exported, names)


def _automatic(label):
    return {d: torch.export.Dim.AUTO for d in range(label.dim())} if isinstance(label, torch.Tensor) else None


# Names --------------------------------------------------------------------------------------------

def _leaf_names(forward, args, kwargs):
    """'x' for the argument x, 'states.0' for parts of one."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    names = []
    for name, value in bound.arguments.items():
        kind = inspect.signature(forward).parameters[name].kind
        parts = {name: value} if kind not in (kind.VAR_KEYWORD, kind.VAR_POSITIONAL) else \
            value if kind is kind.VAR_KEYWORD else {f"{name}.{i}": v for i, v in enumerate(value)}
        for part, inner in parts.items():
            for path, _ in pytree.tree_flatten_with_path(inner)[0]:
                names.append(part + "".join(f".{getattr(key, 'key', getattr(key, 'idx', getattr(key, 'name', '')))}" for key in path))
    return names


def _label_names(loss, labels, taken):
    """The names of the loss's parameters after the first; 'labels' where it has none that can be read."""
    try:
        target = loss.forward if isinstance(loss, nn.Module) else loss
        parameters = [p.name for p in inspect.signature(target).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    except (TypeError, ValueError):
        parameters = []
    names = []
    for index, label in enumerate(labels):
        base = parameters[index] if index < len(parameters) else "labels" if len(labels) == 1 else f"labels.{index}"
        for path, _ in pytree.tree_flatten_with_path(label)[0]:
            name = base + "".join(f".{getattr(key, 'key', getattr(key, 'idx', ''))}" for key in path)
            names.append(f"{name}.label" if name in taken else name)
    return names


def _by_argument(dynamic_shapes, forward, args, kwargs):
    """torch.export's dynamic_shapes as (those of positional arguments, those of keywords)."""
    if dynamic_shapes is None:
        return None
    if not isinstance(dynamic_shapes, dict):
        return tuple(dynamic_shapes), {name: None for name in kwargs}
    positional = list(inspect.signature(forward).bind(*args).arguments)
    unknown = [name for name in dynamic_shapes if name not in positional and name not in kwargs]
    if unknown:
        raise TraceError(f"dynamic_shapes names '{unknown[0]}', but the arguments are {', '.join([*positional, *kwargs])}")
    return tuple(dynamic_shapes.get(name) for name in positional), {name: dynamic_shapes.get(name) for name in kwargs}


def _symbols(exported, arguments, shapes, forward):
    """The user's names of symbolic dimensions, by the symbols of the program."""
    if shapes is None:
        return {}
    if forward is not None:
        shapes = _by_argument(shapes, forward, *arguments)
    found = {}
    nodes = iter(_user_inputs(exported))

    def visit(value, spec):
        if isinstance(value, torch.Tensor):
            node = next(nodes, None)
            items = spec.items() if isinstance(spec, dict) else enumerate(spec or ())
            for axis, dim in items:
                size = node.meta["val"].shape[axis]
                name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
                if isinstance(size, torch.SymInt) and isinstance(name, str) and size.node.expr.is_symbol:
                    found[str(size.node.expr)] = name
        elif isinstance(value, dict):
            for key, inner in value.items():
                visit(inner, spec.get(key) if isinstance(spec, dict) else None)
        elif isinstance(value, (list, tuple)):
            for index, inner in enumerate(value):
                visit(inner, spec[index] if isinstance(spec, (list, tuple)) and index < len(spec) else None)
        elif value is not None:
            next(nodes, None)
    visit(arguments[0], shapes[0])
    visit(arguments[1], shapes[1])
    return found


def _user_inputs(exported):
    wanted = {spec.arg.name for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"}
    return [node for node in exported.graph.nodes if node.op == "placeholder" and node.name in wanted]


# torch.export and its errors ----------------------------------------------------------------------

def _export(module, args, kwargs, shapes):
    try:
        with _quiet():
            return torch.export.export(module, args, kwargs, strict=True, dynamic_shapes=shapes)
    except Exception as error:  # noqa: BLE001 (Dynamo raises many kinds, and the user's own errors pass through it)
        raise _explained(error) from error


@contextmanager
def _quiet():
    """Without the warnings of export's own internals, and without what is logged of errors that are raised as well."""
    loggers = [logging.getLogger(name) for name in ("torch.export", "torch._subclasses.fake_tensor")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


_CAUSES = (
    (re.compile(r"_checkpoint_context_fn|torch\.utils\.checkpoint|checkpoint_without_reentrant|CheckpointFunction|tag_activation_checkpoint",),
     "checkpoint() cannot be traced: remove it; which values are computed again is chosen by this compiler"),
    (re.compile(r"[Dd]ata-dependent (branching|control flow|expression)|GuardOnDataDependentSymNode|Could not guard on data-dependent"),
     "Python control flow depends on values of a tensor, which cannot be traced: use torch.where, or decide by shapes"),
    (re.compile(r"Tensor\.item|\.item\(\)|_local_scalar_dense"),
     "a number is read from a tensor (item() and its like), which cannot be traced: keep it a tensor"),
)


def _explained(error):
    text = str(error)
    place = _place(error, text)
    for pattern, message in _CAUSES:
        if pattern.search(text):
            return TraceError(message + place)
    return TraceError(f"torch.export: {_shortened(error, text)}{place}")


def _shortened(error, text):
    """The first line that says something, and Dynamo's explanation."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    explanation = next((line for line in lines if line.startswith("Explanation:")), "")
    head = lines[0] if lines else type(error).__name__
    return head + (f" ({explanation.removeprefix('Explanation:').strip()[:300]})" if explanation else "")


def _place(error, text):
    """'\n    at file:line: code' of the innermost frame that is the user's."""
    frames = [(file, int(line)) for file, line in re.findall(r'File "([^"]+)", line (\d+), in', text)]
    frames += [(frame.filename, frame.lineno) for frame in getattr(error, "real_stack", None) or ()]
    own = [frame for frame in frames if is_own(frame[0]) and not frame[0].startswith(os.path.dirname(__file__))]
    if not own:
        return ""
    file, line = own[-1]
    code = ""
    try:
        with open(file, errors="replace") as source:
            code = source.read().splitlines()[line - 1].strip()
    except (OSError, IndexError):
        pass
    return f"\n    at {file}:{line}" + (f": {code}" if code else "")
