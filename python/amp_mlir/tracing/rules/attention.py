"""Scaled dot-product attention."""

import math

import numpy as np

from ..registry import rule
from ..errors import Refusal
from .random import drop


@rule("scaled_dot_product_attention")
def attention(e, q, k, v, mask, dropout, causal, scale, grouped):
    """One Attention operator; with dropout on the weights, the products and the softmax it stands for."""
    if dropout:
        return _with_dropout(e, q, k, v, mask, dropout, causal, scale, grouped)
    rank = q.rank
    if rank == 3:
        # ONNX takes (batch, heads, length, size).
        q, k, v = (e.unsqueeze(t, [1]) for t in (q, k, v))
        mask = e.unsqueeze(mask, [1]) if mask is not None and mask.rank == 3 else mask
    elif rank == 2:
        q, k, v = (e.unsqueeze(t, [0, 1]) for t in (q, k, v))
    elif rank > 4:
        return _flattened(e, q, k, v, mask, causal, scale)
    result = e.op("Attention", q, k, v, mask, is_causal=int(causal), scale=None if scale is None else float(scale))
    return result if rank == 4 else e.squeeze(result, [1] if rank == 3 else [0, 1])


def _flattened(e, q, k, v, mask, causal, scale):
    """Leading dimensions beyond the batch become part of it."""
    if mask is not None and mask.rank > 2:
        raise Refusal("a mask for each of several batch dimensions is not supported; flatten them first")
    sizes = e.dims(q)
    flat = [e.reshape(t, [-1, *e.dims(t)[-3:]]) for t in (q, k, v)]
    result = attention(e, *flat, mask, 0.0, causal, scale, False)
    return e.reshape(result, [*sizes[:-1], e.dim(v, -1)])


def _with_dropout(e, q, k, v, mask, dropout, causal, scale, grouped):
    if grouped:
        k, v = (_repeated_heads(e, q, t) for t in (k, v))
    root = math.sqrt(1 / math.sqrt(q.size(-1)) if scale is None else scale)
    order = [*range(k.rank - 2), k.rank - 1, k.rank - 2]
    scores = e.op("MatMul", q * root, e.transpose(k * root, order))
    if causal:
        mask = e.array(np.tril(np.ones((q.size(-2), k.size(-2)), bool)))
    if mask is not None and mask.dtype == "i1":
        scores = e.where(mask, scores, e.number(-math.inf, scores.dtype))
    elif mask is not None:
        scores = scores + e.cast_like(mask, scores)
    weights = drop(e, e.op("Softmax", scores, axis=-1), dropout)
    return e.op("MatMul", weights, v)


def _repeated_heads(e, q, t):
    factor = q.size(-3) // t.size(-3)
    if factor == 1:
        return t
    return e.op("Gather", t, e.ints(np.repeat(np.arange(t.size(-3)), factor)), axis=t.rank - 3)
