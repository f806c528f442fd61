"""Mixed-precision compiler for model graphs: ONNX models and PyTorch modules in, compiled steps out."""
import importlib

from .errors import Error

# Names and where they are defined: nothing that loads the compiler or PyTorch is imported before it is used.
_HOMES = {
    "_amp": ("CompileError", "GraphBuilder", "Module", "Value"),
    "_runtime": ("StepError",),
    "api": ("compile", "compile_training"),
    "autocasting": ("autocast",),
    "cache": ("clear_cache",),
    "optim": ("LAMB", "SGD", "Adam", "AdamW", "Lion"),
    "report": ("Report",),
    "scaler": ("GradScaler",),
    "conversion": ("convert", "from_onnx"),
    "loading": ("load",),
    "step": ("Inference", "StepOutput", "TrainingStep"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["Error", "__version__", *sorted(_HOME_OF)]


def __getattr__(name):
    if name == "__version__":
        return importlib.import_module("._runtime", __name__).__version__
    if name not in _HOME_OF:
        raise AttributeError(f"module 'amp_mlir' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
