"""Reading and writing by index tensors and masks."""

import numpy as np

from ..emit import Tensor
from ..errors import Refusal
from ..registry import rule


@rule("embedding")
def embedding(e, weight, indices, padding):
    rows = e.op("Gather", weight, indices, axis=0)
    if padding is None or padding < 0:
        return rows
    # The row of padding is read, but gets no gradient.
    is_padding = e.unsqueeze(e.op("Equal", indices, e.number(padding, indices.dtype)), [indices.rank])
    return e.where(is_padding, e.stop_gradient(rows), rows)


@rule("one_hot")
def one_hot(e, x, classes):
    if classes < 0:
        raise Refusal("the number of classes has to be given")
    return e.op("OneHot", x, e.number(classes, "i64"), e.ints([0, 1]), axis=-1)


@rule("index_select")
def index_select(e, x, dim, index):
    if x.rank == 0:
        return x
    return e.op("Gather", x, e.reshape(index, [-1]), axis=x.axis(dim))


@rule("gather")
def gather(e, x, dim, index):
    if x.rank == 0:
        return x
    return e.op("GatherElements", x, index, axis=x.axis(dim))


@rule("take_along_dim")
def take_along_dim(e, x, index, dim):
    if dim is None:
        return e.op("GatherElements", e.reshape(x, [-1]), e.reshape(index, [-1]), axis=0)
    dim = x.axis(dim)
    def aligned(t, other):
        sizes = [e.dim(t, d) if d == dim or t.shape[d] != 1 else e.dim(other, d) for d in range(t.rank)]
        return t if all(t.shape[d] != 1 or other.shape[d] == 1 or d == dim for d in range(t.rank)) else e.op("Expand", t, e.vector(sizes))
    return e.op("GatherElements", aligned(x, index), aligned(index, x), axis=dim)


@rule("take")
def take(e, x, index):
    return e.op("Gather", e.reshape(x, [-1]), index, axis=0)


# x[i, j, ...] -------------------------------------------------------------------------------------

class _Indices:
    """Indices by their dimensions: those that are None take all of one; masks are refused, since the result's size depends on them."""

    def __init__(self, e, x, indices):
        self.dims = [d for d, index in enumerate(indices) if index is not None]
        self.tensors = [indices[d] for d in self.dims]
        for index in self.tensors:
            if index.dtype in ("i1", "u8"):
                raise Refusal("indexing by a mask gives a result whose size depends on values; use torch.where or masked_fill")
        self.adjacent = self.dims == list(range(self.dims[0], self.dims[-1] + 1))
        self.rest = [d for d in range(x.rank) if d not in self.dims]
        self.rank = max(index.rank for index in self.tensors)

    def stacked(self, e, x):
        """The index tuples along a last dimension, none of them negative where ONNX Scatter wants that."""
        shape = _broadcast_shape(self.tensors)
        parts = []
        for d, index in zip(self.dims, self.tensors):
            index = e.cast(index, "i64")
            size = e.like(e.dim(x, d), "i64")
            index = e.where(index < e.number(0, "i64"), index + size, index)
            if list(index.shape) != shape or None in shape:
                index = e.op("Expand", index, _runtime_shape(e, self.tensors, shape))
            parts.append(e.unsqueeze(index, [self.rank]))
        return parts[0] if len(parts) == 1 else e.op("Concat", *parts, axis=self.rank)


def _broadcast_shape(tensors):
    rank = max(t.rank for t in tensors)
    shape = []
    for d in range(rank):
        sizes = {t.shape[d - rank] for t in tensors if t.rank >= rank - d}
        known = [s for s in sizes if s not in (None, 1)]
        shape.append(known[0] if known else None if None in sizes else 1)
    return shape


def _runtime_shape(e, tensors, shape):
    rank, sizes = len(shape), []
    for d, size in enumerate(shape):
        if size is None:
            source = next(t for t in tensors if t.rank >= rank - d and t.shape[d - rank] is None)
            size = e.dim(source, d - rank)
        sizes.append(size)
    return e.vector(sizes)


@rule("index.Tensor", "_unsafe_index.Tensor")
def index(e, x, indices):
    chosen = _Indices(e, x, indices)
    if len(chosen.dims) == 1:
        return e.op("Gather", x, chosen.tensors[0], axis=chosen.dims[0])
    front = e.transpose(x, [*chosen.dims, *chosen.rest])
    result = e.op("GatherND", front, chosen.stacked(e, x))
    if not chosen.adjacent or chosen.dims[0] == 0:
        return result
    # Adjacent indices leave their dimensions where they were.
    lead, count = chosen.dims[0], chosen.rank
    return e.transpose(result, [*range(count, count + lead), *range(count), *range(count + lead, result.rank)])


@rule("index_put", "_unsafe_index_put")
def index_put(e, x, indices, values, accumulate):
    masks = [index for index in indices if index is not None and index.dtype in ("i1", "u8")]
    if masks:
        return _put_by_mask(e, x, indices, values, accumulate)
    chosen = _Indices(e, x, indices)
    order = [*chosen.dims, *chosen.rest]
    front = e.transpose(x, order)
    places = chosen.stacked(e, x)
    lead = chosen.dims[0] if chosen.adjacent else 0
    count = chosen.rank
    sizes = [*e.dims(places)[:-1], *(e.dim(x, d) for d in chosen.rest)]
    values = e.cast(values, x.dtype)
    if lead:
        target = [*sizes[count:count + lead], *sizes[:count], *sizes[count + lead:]]
        values = e.op("Expand", values, e.vector(target))
        values = e.transpose(values, [*range(lead, lead + count), *range(lead), *range(lead + count, len(target))])
    else:
        values = e.op("Expand", values, e.vector(sizes))
    result = e.op("ScatterND", front, places, e.cast_like(values, x), reduction="add" if accumulate else None)
    return e.transpose(result, np.argsort(order).tolist())


def _put_by_mask(e, x, indices, values, accumulate):
    """x[mask] = number."""
    mask = indices[0]
    if len([i for i in indices if i is not None]) > 1 or mask is None or values.rank and values.count() != 1:
        raise Refusal("writing a tensor where a mask is true is not supported, only one number; use torch.where")
    values = e.reshape(e.cast(values, x.dtype), [])
    mask = e.unsqueeze(e.cast(mask, "i1"), list(range(mask.rank, x.rank)))
    return e.where(mask, x + values if accumulate else e.cast_like(values, x), x)


# Along one dimension ------------------------------------------------------------------------------

def _scatter(e, x, dim, index, source, reduction=None):
    if x.rank == 0:
        e_x, index = e.unsqueeze(x, [0]), e.reshape(index, [1])
        return e.squeeze(_scatter(e, e_x, 0, index, source if not isinstance(source, Tensor) else e.reshape(source, [1]), reduction), [0])
    if not isinstance(source, Tensor):
        source = e.full(e.dims(index), source, x.dtype)
    for d in range(x.rank):
        # What the source has beyond the index is not read.
        if source.shape[d] != index.shape[d]:
            source = e.slice(source, d, 0, e.dim(index, d))
    return e.op("ScatterElements", x, index, e.cast_like(source, x), axis=x.axis(dim), reduction=reduction)


rule("scatter.src")(lambda e, x, dim, index, source: _scatter(e, x, dim, index, source))
rule("scatter.value")(lambda e, x, dim, index, value: _scatter(e, x, dim, index, value))
rule("scatter_add")(lambda e, x, dim, index, source: _scatter(e, x, dim, index, source, "add"))
_REDUCTIONS = {"add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@rule("scatter.reduce", "scatter.value_reduce")
def scatter_reduce_old(e, x, dim, index, source, reduction):
    return _scatter(e, x, dim, index, source, _REDUCTIONS[reduction])


@rule("scatter_reduce.two")
def scatter_reduce(e, x, dim, index, source, reduction, include_self):
    if reduction not in _REDUCTIONS or not include_self:
        raise Refusal(f"reduce={reduction} with include_self={include_self} is not supported")
    return _scatter(e, x, dim, index, source, _REDUCTIONS[reduction])


def _along(e, x, dim, index, source):
    """An index vector in the shape of the source, as ScatterElements wants it."""
    index = e.reshape(e.cast(index, "i64"), [1] * dim + [-1] + [1] * (x.rank - dim - 1))
    return e.op("Expand", index, e.vector(e.dims(source)))


@rule("index_add")
def index_add(e, x, dim, index, source, alpha):
    dim = x.axis(dim)
    source = source if alpha == 1 else source * alpha
    return e.op("ScatterElements", x, _along(e, x, dim, index, source), e.cast_like(source, x), axis=dim, reduction="add")


@rule("index_copy")
def index_copy(e, x, dim, index, source):
    dim = x.axis(dim)
    return e.op("ScatterElements", x, _along(e, x, dim, index, source), e.cast_like(source, x), axis=dim)


@rule("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(e, x, dim, index, value):
    dim, sizes = x.axis(dim), e.dims(x)
    sizes[dim] = e.dim(e.reshape(index, [-1]), 0)
    source = e.op("Expand", e.like(value, x.dtype), e.vector(sizes))
    return e.op("ScatterElements", x, _along(e, x, dim, index, source), e.cast_like(source, x), axis=dim)


# Masks --------------------------------------------------------------------------------------------

@rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(e, x, mask, value):
    return e.where(e.cast(mask, "i1"), e.like(value, x.dtype), x)


@rule("bucketize.Tensor")
def bucketize(e, x, boundaries, out_int32, right):
    """The number of boundaries below (or at) each value."""
    beyond = e.unsqueeze(x, [x.rank])
    beyond, boundaries = e.promote(beyond, boundaries)
    passed = beyond >= boundaries if right else beyond > boundaries
    return e.reduce("ReduceSum", e.cast(passed, "i32" if out_int32 else "i64"), -1)
