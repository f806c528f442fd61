"""The rules, by kind of operator; importing this package fills the table."""

from . import activations, attention, convolution, creation, decomposed, elementwise, indexing, losses, matmul, normalization, pooling
from . import random, recurrent, reductions, resize, shapes

__all__ = ["activations", "attention", "convolution", "creation", "decomposed", "elementwise", "indexing", "losses", "matmul",
           "normalization", "pooling", "random", "recurrent", "reductions", "resize", "shapes"]
