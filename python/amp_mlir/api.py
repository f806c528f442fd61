"""Compiling: models in, steps out."""
import inspect
import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

from . import _amp, _runtime
from .autocasting import autocast as Autocast
from .cache import compiled
from .conversion import from_onnx
from .errors import Error
from .optim import convert as convert_optimizer
from .scaler import GradScaler
from .step import Inference, StepFacts, TrainingStep


def _is_module(model):
    return hasattr(model, "named_parameters") and hasattr(model, "forward")


def _is_exported(model):
    return hasattr(model, "graph_signature") and hasattr(model, "graph_module")


def _tuple(values):
    if values is None:
        return ()
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _bindings(bind):
    return [f"{name}={size}" for name, size in bind.items()] if isinstance(bind, dict) else list(bind or ())


def _check_target(target):
    if target.partition(":")[0] not in ("cpu", "cuda"):
        raise Error(f"target is 'cpu' or 'cuda:' and chips ('cuda:sm_80,sm_90a'), but got {target!r}")


def _read(model):
    """A Module of a path or a Module."""
    if isinstance(model, _amp.Module):
        return model
    if isinstance(model, (str, os.PathLike)):
        return from_onnx(model)
    raise Error(f"model is a torch module, a path of a .onnx or .mlir file or a Module, but got {type(model).__name__}")


def _build_key():
    """Tells builds of the compiler apart."""
    stat = os.stat(_amp.__file__)
    return [_amp.__version__, stat.st_size, stat.st_mtime_ns]


def _policy_text(policy):
    """What a policy file says, as it may change."""
    return Path(policy).read_text(encoding="utf-8") if policy and os.path.isfile(policy) else ""


def _compile(module, options, threads, cache, extra=""):
    def make(path):
        _amp.compile(module, path, report=f"{path}/report.json", **options)
    key = _amp.digest(module, json.dumps([options, extra, _build_key()], sort_keys=True))
    return compiled(key, make, lambda path: _runtime.Step(path, threads), cache)


# Training -----------------------------------------------------------------------------------------

def _split_labels(loss, inputs):
    """How many of the example inputs are the loss's: its arguments without defaults, less the one for the outputs."""
    function = loss.forward if _is_module(loss) else loss
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = [None]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p is None or p.kind == inspect.Parameter.VAR_POSITIONAL for p in parameters):
        raise Error("the loss function does not say how many labels it takes: give them as labels=(...), apart from example_inputs")
    count = sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters) - 1
    if count < 0:
        raise Error("the loss function takes no arguments; it is called as loss(outputs, *labels)")
    if count >= len(inputs):
        raise Error(f"example_inputs has {len(inputs)} tensors, but the loss function alone takes {count} of them as labels: give the model's "
                    "inputs first, then the labels")
    return inputs[:len(inputs) - count], inputs[len(inputs) - count:]


@contextmanager
def _trained_alone(model, parameters):
    """Parameters that the optimizer does not have are not trained."""
    kept = {id(parameter) for parameter in parameters}
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in kept]
    for parameter in others:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in others:
            parameter.requires_grad_(True)


def _trace_training(model, inputs, labels, loss, optimizer, autocast, dynamic_shapes, kwargs):
    from .tracing import trace
    if loss is not None and not callable(loss):
        raise Error(f"loss is a function called as loss(outputs, *labels), or None for a module that returns its loss, but got {loss!r}")
    inputs = _tuple(inputs)
    if not inputs and not kwargs:
        raise Error("a torch module is traced with example_inputs: give tensors of the shapes of a batch")
    if labels is None:
        inputs, labels = _split_labels(loss, inputs) if loss is not None else (inputs, ())
    trained = model.parameters() if not hasattr(optimizer, "param_groups") else [p for g in optimizer.param_groups for p in g["params"]]
    with _trained_alone(model, trained):
        return trace(model, inputs, kwargs, loss=loss, labels=_tuple(labels), dynamic_shapes=dynamic_shapes,
                     policy=autocast.policy if autocast else None)


def _optimizer_facts(optimizer, model):
    """The optimizer of train.json; parameter names and PyTorch's options per group; the instance to follow."""
    if not hasattr(optimizer, "param_groups"):
        if not hasattr(optimizer, "config"):
            raise Error(f"optimizer is amp.SGD(...), amp.AdamW(...), ... or a torch.optim instance, but got {type(optimizer).__name__}")
        config = optimizer.config()
        options = {key: value for key, value in config[optimizer.kind].items() if key != "groups"}
        options |= {"betas": tuple(options["betas"])} if "betas" in options else {}
        groups = [[name for name, _ in model.named_parameters()]] if model is not None else []
        return config, groups, [options], None
    if model is None:
        raise Error("a torch.optim instance holds parameters of a torch module, but the model is none: give amp.SGD(...), amp.AdamW(...), ...")
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = [[names[id(p)] for p in group["params"] if id(p) in names] for group in optimizer.param_groups]
    if not any(groups):
        raise Error("the optimizer has none of the model's parameters")
    options = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    return convert_optimizer(optimizer, names).config(), groups, options, optimizer


def _scaler_config(scaler):
    if scaler is None:
        return None
    return {"enabled": False} if scaler is False else GradScaler.of(scaler).config()


def compile_training(model, example_inputs=None, *, loss, optimizer, autocast=None, scaler=None, target="cpu", bind=None, cache=True,
                     labels=None, example_kwargs=None, dynamic_shapes=None, trainable=(), frozen=(), clip_norm=None, clip_value=None,
                     accumulate=1, schedule=None, outputs=None, options=None, cpu="native", threads=0):
    """Compiles a whole training step: forward, backward, loss scaling and update. Returns a TrainingStep.

    model: a torch module, the path of a .onnx or .mlir file, or a Module.
    example_inputs: of a torch module: tensors of the shapes of a batch, the module's first, then the labels that `loss` takes
    (or these apart, as `labels`). dynamic_shapes, example_kwargs: as torch.export takes them.
    loss: of a torch module: called as loss(outputs, *labels) inside the step; None if the module returns the loss itself. Of
    a file: the name of the output that is the loss, or the object `loss` of train.json.
    optimizer: amp.SGD, Adam, AdamW, LAMB or Lion, or a torch.optim SGD, Adam or AdamW over the module's parameters: what it
    does not have is not trained, and learning rates that a scheduler writes into it are followed.
    autocast: amp.autocast(...), or None for float32. scaler: amp.GradScaler(...), a torch.amp.GradScaler, False for none, or
    None: one with PyTorch's defaults for float16 and none otherwise.
    bind: sizes of symbolic dimensions, {"batch": 32}. target: "cpu", or "cuda:" and chips ("cuda:sm_80,sm_90a"). cpu: the
    processor the code is for.
    cache: whether artifacts are kept (in $XDG_CACHE_HOME/amp-mlir), or the folder for them; False keeps it in memory alone.
    trainable, frozen, clip_norm, clip_value, accumulate, schedule, outputs: as train.json has them (docs/training-config.md);
    `options` are further keys of it. threads: of the calls; 0: one per core.

    Raises Error with what the compiler says; Ctrl-C ends the compilation.
    """
    _check_target(target)
    if autocast is not None and not isinstance(autocast, Autocast):
        raise Error(f"autocast is amp.autocast(...) or None, but got {type(autocast).__name__}")
    if autocast is not None and not autocast.enabled:
        autocast = None
    module, meta = (model, None)
    if _is_module(model):
        traced = _trace_training(model, example_inputs, labels, loss, optimizer, autocast, dynamic_shapes, example_kwargs)
        module, meta, loss = traced.module, traced.meta, "loss"
    optimizer_config, groups, group_options, linked = _optimizer_facts(optimizer, model if meta is not None else None)
    module = _read(module)
    clip = {key: value for key, value in (("norm", clip_norm), ("value", clip_value)) if value is not None}
    config = {"loss": loss, "optimizer": optimizer_config, "autocast": _autocast_config(autocast, meta), "loss_scale": _scaler_config(scaler),
              "clip": clip or None, "accumulate": accumulate, "schedule": schedule, "trainable": list(trainable) or None,
              "frozen": list(frozen) or None, "outputs": outputs} | (options or {})
    config = {key: value for key, value in config.items() if value is not None}
    opened = _compile(module, {"training": json.dumps(config), "bind": _bindings(bind), "target": target, "cpu": cpu}, threads, cache,
                      _policy_text(autocast.policy if autocast else ""))
    facts = StepFacts(json.loads(opened.step.info)["scaler"], groups, group_options, linked)
    return TrainingStep(opened, module.source, _with_unused(meta, model), facts)


def _with_unused(meta, model):
    """Names in the module's state_dict that its computation does not use are known, too."""
    if meta is not None:
        meta.unused = {name for name in model.state_dict() if name not in meta.parameters | meta.frozen | meta.buffers | meta.tied}
    return meta


def _autocast_config(autocast, meta):
    """Regions of a program need the passes, even where nothing around them is cast."""
    if autocast is not None:
        return autocast.config()
    return Autocast("cpu", "f16").config() if meta is not None and meta.has_regions else None


# Inference ----------------------------------------------------------------------------------------

def _assign_precision(module, autocast, work):
    """Runs the autocast passes on the module and returns the path of their report."""
    path = str(Path(work) / "autocast.json")
    module.autocast(dtype=autocast.dtype, policy=autocast.policy, allow=list(autocast.allow), deny=list(autocast.deny), pin=autocast.pins(),
                    report=path)
    return json.loads(Path(path).read_text(encoding="utf-8"))


def compile(model, example_inputs=None, *, autocast=None, target="cpu", bind=None, cache=True, example_kwargs=None,  # noqa: A001
            dynamic_shapes=None, cpu="native", threads=0):
    """Compiles a model for inference. Returns an Inference, which is called like the model.

    The arguments are those of compile_training. A torch module is traced in the mode it is in: call .eval() before.
    """
    _check_target(target)
    if autocast is not None and not isinstance(autocast, Autocast):
        raise Error(f"autocast is amp.autocast(...) or None, but got {type(autocast).__name__}")
    if autocast is not None and not autocast.enabled:
        autocast = None
    module, meta = model, None
    if _is_module(model) or _is_exported(model):
        from .tracing import trace
        inputs = _tuple(example_inputs)
        if not inputs and not example_kwargs:
            raise Error("a torch module is traced with example_inputs: give tensors of the shapes of a batch")
        traced = trace(model, inputs, example_kwargs, dynamic_shapes=dynamic_shapes, policy=autocast.policy if autocast else None, constants=True)
        module, meta = traced.module, traced.meta
    module = _read(module)
    report = None
    if autocast is not None or (meta is not None and meta.has_regions):
        module = module.clone()
        with tempfile.TemporaryDirectory(prefix="amp-mlir-") as work:
            report = _assign_precision(module, autocast or Autocast("cpu", "f16"), work)
    opened = _compile(module, {"inference": True, "bind": _bindings(bind), "target": target, "cpu": cpu}, threads, cache)
    return Inference(opened, module.source, _with_unused(meta, model) if _is_module(model) else meta, report)
