"""Mixed-precision compiler for model graphs: ONNX models and PyTorch modules in, compiled steps out."""
from ._amp import Error, GraphBuilder, Module, Value, __version__

__all__ = ["Error", "GraphBuilder", "Module", "Value", "__version__"]
