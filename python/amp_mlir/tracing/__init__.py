"""PyTorch modules as graphs: `trace` reads what torch.export gives and writes it with a GraphBuilder."""

from .errors import TraceError, UnsupportedOps
from .tracer import Meta, Traced, trace

__all__ = ["Meta", "TraceError", "Traced", "UnsupportedOps", "trace"]
