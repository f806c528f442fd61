"""Tensors made of numbers."""

import math

import numpy as np
import torch

from ..emit import Size, Tensor, dtype_name
from ..registry import rule


def _filled(e, sizes, number, dtype):
    if dtype is None:
        dtype = "i1" if isinstance(number, bool) else "i64" if isinstance(number, int) else "f32"
    else:
        dtype = dtype_name(dtype)
    if isinstance(number, (Tensor, Size)):
        return e.op("Expand", e.like(number, dtype), e.vector(sizes))
    return e.full(sizes, number, dtype)


@rule("zeros", "empty.memory_format")
def zeros(e, sizes, dtype):
    return _filled(e, sizes, 0.0, dtype)


@rule("ones")
def ones(e, sizes, dtype):
    return _filled(e, sizes, 1.0, dtype)


@rule("full")
def full(e, sizes, number, dtype):
    return _filled(e, sizes, number, dtype)


@rule("scalar_tensor")
def scalar_tensor(e, number, dtype):
    return e.number(number, "f32" if dtype is None else dtype_name(dtype))


def _like(e, x, number, dtype, sizes=None):
    """In the type that x has when the program runs, unless another is named."""
    wanted = x.dtype if dtype is None else dtype_name(dtype)
    number = e.like(number, wanted)
    result = e.op("Expand", number, e.vector(e.dims(x) if sizes is None else sizes))
    return result if dtype is not None else e.cast_like(result, x)


@rule("zeros_like", "empty_like")
def zeros_like(e, x, dtype):
    return _like(e, x, 0, dtype)


@rule("ones_like")
def ones_like(e, x, dtype):
    return _like(e, x, 1, dtype)


@rule("full_like")
def full_like(e, x, number, dtype):
    return _like(e, x, number, dtype)


@rule("new_zeros", "new_empty")
def new_zeros(e, x, sizes, dtype):
    return _like(e, x, 0, dtype, sizes)


@rule("new_ones")
def new_ones(e, x, sizes, dtype):
    return _like(e, x, 1, dtype, sizes)


@rule("new_full")
def new_full(e, x, sizes, number, dtype):
    return _like(e, x, number, dtype, sizes)


# Rows of numbers ----------------------------------------------------------------------------------

def _range_type(dtype, *bounds):
    if dtype is not None:
        return dtype_name(dtype)
    return "f32" if any(isinstance(b, float) for b in bounds) else "i64"


@rule("arange")
def arange(e, end, dtype):
    return _arange(e, 0, end, 1, dtype)


@rule("arange.start")
def arange_start(e, start, end, dtype):
    return _arange(e, start, end, 1, dtype)


@rule("arange.start_step")
def arange_step(e, start, end, step, dtype):
    return _arange(e, start, end, step, dtype)


def _arange(e, start, end, step, dtype):
    name = _range_type(dtype, start, end, step)
    if any(isinstance(bound, (Size, Tensor)) for bound in (start, end, step)):
        return e.cast(e.op("Range", *[e.like(bound, "i64") for bound in (start, end, step)]), name)
    return e.cast(e.array(_spaced(start, end, step, name)), name)


def _spaced(start, end, step, name):
    """As PyTorch counts: in float64 (or int64), rounded once."""
    if name.startswith("i"):
        return np.arange(start, end, step).astype(np.int64)
    count = max(0, math.ceil((end - start) / step))
    values = start + np.arange(count, dtype=np.float64) * step
    return values if name == "f64" else values.astype(np.float32)


@rule("linspace")
def linspace(e, start, end, steps, dtype):
    name = "f32" if dtype is None else dtype_name(dtype)
    return e.cast(e.array(np.linspace(start, end, steps).astype(np.float64 if name == "f64" else np.float32)), name)


@rule("eye")
def eye(e, size, dtype):
    return eye_m(e, size, size, dtype)


@rule("eye.m")
def eye_m(e, rows, columns, dtype):
    return e.cast(e.array(np.eye(rows, columns, dtype=np.float32)), "f32" if dtype is None else dtype_name(dtype))


def _triangle(e, rows, columns, offset, dtype, indices):
    return e.cast(e.ints(np.stack(indices(rows, offset, columns))), dtype_name(dtype) if isinstance(dtype, torch.dtype) else "i64")


@rule("tril_indices")
def tril_indices(e, rows, columns, offset, dtype):
    return _triangle(e, rows, columns, offset, dtype, np.tril_indices)


@rule("triu_indices")
def triu_indices(e, rows, columns, offset, dtype):
    return _triangle(e, rows, columns, offset, dtype, np.triu_indices)
