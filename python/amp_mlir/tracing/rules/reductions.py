"""Sums, means, norms, extremes and running sums."""

import math

from ..emit import dtype_name
from ..errors import Refusal
from ..registry import composite, rule
from .elementwise import power


def _sum_type(e, x, dtype):
    """Integers and truth values are summed as int64; a named type is cast to first."""
    if dtype is not None:
        return e.cast(x, dtype_name(dtype)) if x.dtype != dtype_name(dtype) else e.widen(x)
    return x if x.is_float else e.cast(x, "i64")


@rule("sum.default")
def sum_all(e, x, dtype):
    return e.reduce("ReduceSum", _sum_type(e, x, dtype), None)


@rule("sum.dim_IntList")
def sum_(e, x, dims, keep, dtype):
    return e.reduce("ReduceSum", _sum_type(e, x, dtype), dims, keep)


@rule("mean.default")
def mean_all(e, x, dtype):
    return mean(e, x, None, False, dtype)


@rule("mean.dim")
def mean(e, x, dims, keep, dtype):
    if dtype is None and not x.is_float:
        raise Refusal("the mean of integers is not defined")
    return e.reduce("ReduceMean", _sum_type(e, x, dtype), dims, keep)


@rule("prod.default")
def prod_all(e, x, dtype):
    return e.reduce("ReduceProd", _sum_type(e, x, dtype), None)


@rule("prod.dim_int")
def prod(e, x, dim, keep, dtype):
    return e.reduce("ReduceProd", _sum_type(e, x, dtype), dim, keep)


@rule("logsumexp")
def logsumexp(e, x, dims, keep):
    return e.reduce("ReduceLogSumExp", e.as_float(x), dims, keep)


# Variance -----------------------------------------------------------------------------------------

def _variance(e, x, dims, correction, keep):
    dims = list(range(x.rank)) if not dims and dims != 0 else [dims] if isinstance(dims, int) else list(dims)
    count = x.count([x.axis(d) for d in dims])
    centred = x - e.reduce("ReduceMean", x, dims, True)
    total = e.reduce("ReduceSumSquare", centred, dims, keep)
    correction = 1 if correction is None else correction
    return total / max(float(count - correction), 0.0)


@composite("var.correction")
def var(e, x, dims, correction, keep):
    return _variance(e, x, dims, correction, keep)


@composite("var.dim")
def var_dim(e, x, dims, unbiased, keep):
    return _variance(e, x, dims, int(unbiased), keep)


@composite("var")
def var_all(e, x, unbiased):
    return _variance(e, x, None, int(unbiased), False)


@composite("std.dim")
def std_dim(e, x, dims, unbiased, keep):
    return e.op("Sqrt", _variance(e, x, dims, int(unbiased), keep))


@composite("std")
def std_all(e, x, unbiased):
    return e.op("Sqrt", _variance(e, x, None, int(unbiased), False))


@composite("std.correction")
def std(e, x, dims, correction, keep):
    return e.op("Sqrt", _variance(e, x, dims, correction, keep))


@composite("var_mean.correction")
def var_mean(e, x, dims, correction, keep):
    return [_variance(e, x, dims, correction, keep), e.reduce("ReduceMean", x, dims, keep)]


@composite("std_mean.correction")
def std_mean(e, x, dims, correction, keep):
    variance, middle = var_mean(e, x, dims, correction, keep)
    return [e.op("Sqrt", variance), middle]


# Norms --------------------------------------------------------------------------------------------

@rule("linalg_vector_norm")
def vector_norm(e, x, order, dims, keep, dtype):
    if dtype is not None:
        x = e.cast(x, dtype_name(dtype))
    order = 2 if order is None else order
    if order in (1, 2):
        return e.reduce(f"ReduceL{int(order)}", x, dims, keep)
    size = e.op("Abs", x)
    if order in (math.inf, -math.inf):
        return e.reduce("ReduceMax" if order > 0 else "ReduceMin", size, dims, keep)
    if order == 0:
        return e.reduce("ReduceSum", e.cast(e.op("Not", e.op("Equal", x, e.number(0, x.dtype))), x.dtype), dims, keep)
    return power(e, e.reduce("ReduceSum", power(e, size, float(order)), dims, keep), 1 / order)


@rule("norm.Scalar")
def norm_all(e, x, order):
    return vector_norm(e, x, order, None, False, None)


@rule("norm.ScalarOpt_dim")
def norm(e, x, order, dims, keep):
    return vector_norm(e, x, order, dims, keep, None)


@rule("norm.ScalarOpt_dtype")
def norm_dtype(e, x, order, dtype):
    return vector_norm(e, x, order, None, False, dtype)


@rule("norm.ScalarOpt_dim_dtype")
def norm_dim_dtype(e, x, order, dims, keep, dtype):
    return vector_norm(e, x, order, dims, keep, dtype)


@rule("linalg_norm")
def linalg_norm(e, x, order, dims, keep, dtype):
    if order is not None and (dims is None and x.rank > 1 or dims is not None and len(dims) > 1):
        raise Refusal("norms of matrices are not supported")
    return vector_norm(e, x, order, dims, keep, dtype)


# Extremes -----------------------------------------------------------------------------------------

@rule("amax")
def amax(e, x, dims, keep):
    return e.reduce("ReduceMax", x, dims, keep)


@rule("amin")
def amin(e, x, dims, keep):
    return e.reduce("ReduceMin", x, dims, keep)


@rule("max")
def max_all(e, x):
    return e.reduce("ReduceMax", x, None)


@rule("min")
def min_all(e, x):
    return e.reduce("ReduceMin", x, None)


@rule("argmax")
def argmax(e, x, dim, keep):
    return _arg(e, "ArgMax", x, dim, keep)


@rule("argmin")
def argmin(e, x, dim, keep):
    return _arg(e, "ArgMin", x, dim, keep)


def _arg(e, kind, x, dim, keep):
    if x.dtype == "i1":
        x = e.cast(x, "i32")
    if dim is None:
        flat = e.op(kind, e.reshape(x, [-1]), axis=0, keepdims=0)
        return e.reshape(flat, [1] * x.rank) if keep else flat
    if x.rank == 0:
        return e.number(0, "i64")
    return e.op(kind, x, axis=x.axis(dim), keepdims=int(keep))


@rule("max.dim")
def max_dim(e, x, dim, keep):
    return _extreme(e, "ArgMax", x, dim, keep)


@rule("min.dim")
def min_dim(e, x, dim, keep):
    return _extreme(e, "ArgMin", x, dim, keep)


def _extreme(e, kind, x, dim, keep):
    """The first of equal elements, and the gradient goes to it alone."""
    if x.rank == 0:
        return [x, e.number(0, "i64")]
    dim = x.axis(dim)
    index = e.op(kind, x, axis=dim, keepdims=1)
    value = e.op("GatherElements", x, index, axis=dim)
    return [value, index] if keep else [e.squeeze(value, [dim]), e.squeeze(index, [dim])]


def _truths(e, kind, x, dims, keep):
    if x.dtype != "i1":
        x = e.cast(x, "i1")
    return e.cast(e.reduce(kind, e.cast(x, "i32"), dims, keep), "i1")


rule("any")(lambda e, x: _truths(e, "ReduceMax", x, None, False))
rule("any.dim", "any.dims")(lambda e, x, dim, keep: _truths(e, "ReduceMax", x, dim, keep))
rule("all")(lambda e, x: _truths(e, "ReduceMin", x, None, False))
rule("all.dim", "all.dims")(lambda e, x, dim, keep: _truths(e, "ReduceMin", x, dim, keep))


@rule("count_nonzero")
def count_nonzero(e, x, dim):
    return e.reduce("ReduceSum", e.cast(e.cast(x, "i1"), "i64"), dim)


@rule("count_nonzero.dim_IntList")
def count_nonzero_dims(e, x, dims):
    return e.reduce("ReduceSum", e.cast(e.cast(x, "i1"), "i64"), dims)


# Order --------------------------------------------------------------------------------------------

@rule("topk")
def topk(e, x, k, dim, largest, ordered):
    return e.ops("TopK", x, e.vector([k]), outputs=2, axis=x.axis(dim), largest=int(largest), sorted=int(ordered))


@rule("sort")
def sort(e, x, dim, descending):
    return _sort(e, x, dim, descending)


@rule("sort.stable")
def sort_stable(e, x, stable, dim, descending):
    return _sort(e, x, dim, descending)


def _sort(e, x, dim, descending):
    return e.ops("TopK", x, e.vector([e.dim(x, dim)]), outputs=2, axis=x.axis(dim), largest=int(descending), sorted=1)


@rule("argsort")
def argsort(e, x, dim, descending):
    return _sort(e, x, dim, descending)[1]


# Running sums -------------------------------------------------------------------------------------

@rule("cumsum")
def cumsum(e, x, dim, dtype):
    x = _sum_type(e, x, dtype)
    return e.op("CumSum", x, e.number(x.axis(dim), "i64")) if x.rank else x


@rule("cumprod")
def cumprod(e, x, dim, dtype):
    x = _sum_type(e, x, dtype)
    return e.op("CumProd", x, e.number(x.axis(dim), "i64")) if x.rank else x


@composite("logcumsumexp")
def logcumsumexp(e, x, dim):
    top = e.reduce("ReduceMax", x, dim, True)
    return e.op("Log", e.op("CumSum", e.op("Exp", x - top), e.number(x.axis(dim), "i64"))) + top
