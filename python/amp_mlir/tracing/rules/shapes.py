"""Other shapes for the same elements, and parts of tensors. Most are views: each has the inverse that a write through it needs."""

import numpy as np

from ..emit import Size, Tensor
from ..registry import rule, view

_END = 2**63 - 1


# The same elements in another shape ---------------------------------------------------------------

def _unreshape(e, base, new, *_):
    return e.reshape(new, e.dims(base))


@view("view", "reshape", "_unsafe_view", inverse=_unreshape)
def reshape(e, x, sizes):
    return e.reshape(x, sizes)


@view("_reshape_alias", inverse=_unreshape)
def reshape_alias(e, x, sizes, strides):
    return e.reshape(x, sizes)


@view("view_as", "reshape_as", inverse=_unreshape)
def view_as(e, x, other):
    return e.reshape(x, e.dims(other))


@view("flatten.using_ints", inverse=_unreshape)
def flatten(e, x, start, end):
    if x.rank == 0:
        return e.unsqueeze(x, [0])
    start, end = x.axis(start), x.axis(end)
    if start == end:
        return x
    middle = -1 if any(size is None for size in x.shape[start:end + 1]) else x.count(range(start, end + 1))
    return e.reshape(x, [*e.dims(x)[:start], middle, *e.dims(x)[end + 1:]])


@view("unflatten.int", inverse=_unreshape)
def unflatten(e, x, dim, sizes):
    dim, dims = x.axis(dim), e.dims(x)
    return e.reshape(x, [*dims[:dim], *sizes, *dims[dim + 1:]])


@view("unsqueeze", inverse=_unreshape)
def unsqueeze(e, x, dim):
    return e.unsqueeze(x, [dim + x.rank + 1 if dim < 0 else dim])


def _ones(x, dims):
    return [d for d in dims if x.shape[d] == 1]


@view("squeeze", inverse=_unreshape)
def squeeze(e, x):
    return e.squeeze(x, _ones(x, range(x.rank)))


@view("squeeze.dim", inverse=_unreshape)
def squeeze_dim(e, x, dim):
    return squeeze_dims(e, x, [dim])


@view("squeeze.dims", inverse=_unreshape)
def squeeze_dims(e, x, dims):
    return e.squeeze(x, _ones(x, [x.axis(d) for d in dims])) if x.rank else x


# Orders of dimensions -----------------------------------------------------------------------------

def _swapped(x, first, second):
    order = list(range(x.rank))
    if x.rank:
        first, second = x.axis(first), x.axis(second)
        order[first], order[second] = second, first
    return order


def _unswap(e, base, new, first, second):
    return e.transpose(new, _swapped(base, first, second))


@view("transpose.int", "swapaxes", "swapdims", inverse=_unswap)
def transpose(e, x, first, second):
    return e.transpose(x, _swapped(x, first, second))


@view("t", "numpy_T", inverse=lambda e, base, new: e.transpose(new, range(base.rank)[::-1]))
def t(e, x):
    return e.transpose(x, range(x.rank)[::-1])


@view("mT", "adjoint", inverse=lambda e, base, new: _unswap(e, base, new, -1, -2))
def matrix_transpose(e, x):
    return transpose(e, x, -1, -2)


def _unpermute(e, base, new, order):
    return e.transpose(new, np.argsort([base.axis(d) for d in order]).tolist())


@view("permute", inverse=_unpermute)
def permute(e, x, order):
    return e.transpose(x, [x.axis(d) for d in order])


def _moved(x, source, destination):
    source, destination = ([x.axis(d) for d in (v if isinstance(v, (list, tuple)) else [v])] for v in (source, destination))
    order = [d for d in range(x.rank) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return order


@view("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist",
      inverse=lambda e, base, new, source, destination: _unpermute(e, base, new, _moved(base, source, destination)))
def movedim(e, x, source, destination):
    return e.transpose(x, _moved(x, source, destination))


# Parts --------------------------------------------------------------------------------------------

def _bound(x, dim, bound, default):
    """Start or end as Python takes it: an int within the dimension where that is known."""
    if bound is None:
        return default
    size = x.shape[dim]
    if isinstance(bound, int) and size is not None:
        return max(0, bound + size) if bound < 0 else min(bound, size)
    return bound


def _slice_of(x, dim, start, end):
    dim = x.axis(dim)
    return dim, _bound(x, dim, start, 0), _bound(x, dim, end, _END if x.shape[dim] is None else x.shape[dim])


def write_slice(e, base, new, dim=0, start=None, end=None, step=1):
    """base with base[start:end:step] = new along `dim`."""
    dim, start, end = _slice_of(base, dim, start, end)
    size = base.shape[dim]
    if step == 1:
        parts = [new]
        if start != 0:
            parts.insert(0, e.slice(base, dim, 0, start))
        if end not in (size, _END):
            parts.append(e.slice(base, dim, end, _END))
        return e.op("Concat", *parts, axis=dim) if len(parts) > 1 else new
    picked = range(*slice(start, end, step).indices(base.size(dim)))
    source = np.arange(size)
    source[list(picked)] = size + np.arange(len(picked))
    return e.op("Gather", e.op("Concat", base, new, axis=dim), e.ints(source), axis=dim)


@view("slice.Tensor", inverse=write_slice)
def slice_(e, x, dim, start, end, step):
    dim, start, end = _slice_of(x, dim, start, end)
    if step == 1 and start == 0 and end in (x.shape[dim], _END):
        return x
    return e.slice(x, dim, start, end, step)


@view("narrow", inverse=lambda e, base, new, dim, start, length: write_slice(e, base, new, dim, *_span(e, base, dim, start, length)))
def narrow(e, x, dim, start, length):
    start, end = _span(e, x, dim, start, length)
    return e.slice(x, x.axis(dim), start, end)


def _span(e, x, dim, start, length):
    if isinstance(start, int) and isinstance(length, int):
        start = start + x.size(dim) if start < 0 else start
        return start, start + length
    return start, Size(e.op("Add", e.vector([start]), e.vector([length])))


def _select_span(base, dim, index):
    dim = base.axis(dim)
    if isinstance(index, int) and index < 0 and base.shape[dim] is not None:
        index += base.shape[dim]
    return dim, index, index + 1 if isinstance(index, int) and index != -1 else None


def write_select(e, base, new, dim, index):
    """base with base[index] = new along `dim`."""
    dim, start, end = _select_span(base, dim, index)
    return write_slice(e, base, e.unsqueeze(new, [dim]), dim, start, end)


@view("select.int", inverse=write_select)
def select(e, x, dim, index):
    dim = x.axis(dim)
    if isinstance(index, Size):
        return e.op("Gather", x, e.op("Squeeze", index.tensor, e.ints([0])), axis=dim)
    _, start, end = _select_span(x, dim, index)
    return e.squeeze(e.slice(x, dim, start, _END if end is None else end), [dim])


rule("select_scatter")(lambda e, x, source, dim, index: write_select(e, x, source, dim, index))
rule("slice_scatter")(lambda e, x, source, dim, start, end, step: write_slice(e, x, source, dim, start, end, step))


def _pieces(x, sizes, dim):
    """Start and end of consecutive parts."""
    ends = np.cumsum(sizes).tolist()
    return list(zip([0, *ends[:-1]], ends))


def _split(e, x, sizes, dim):
    dim = x.axis(dim)
    if len(sizes) == 1:
        return [e.op("Identity", x)]
    return e.ops("Split", x, e.ints(sizes), outputs=len(sizes), axis=dim)


def _even(x, size, dim):
    total = x.size(dim)
    return [min(size, total - start) for start in range(0, total, size)] or [0]


def _chunks(x, count, dim):
    total = x.size(dim)
    return _even(x, max(1, -(-total // count)), dim)


def _sections(x, count, dim):
    total = x.size(dim)
    return [total // count + (i < total % count) for i in range(count)]


def _write_piece(e, base, part, sizes, dim):
    index, new = part
    start, end = _pieces(base, sizes, dim)[index]
    return write_slice(e, base, new, dim, start, end)


@view("split.Tensor", inverse=lambda e, base, part, size, dim: _write_piece(e, base, part, _even(base, size, dim), dim))
def split(e, x, size, dim):
    return _split(e, x, _even(x, size, dim), dim)


@view("split_with_sizes", "split.sizes", inverse=_write_piece)
def split_with_sizes(e, x, sizes, dim):
    return _split(e, x, sizes, dim)


@view("chunk", inverse=lambda e, base, part, count, dim: _write_piece(e, base, part, _chunks(base, count, dim), dim))
def chunk(e, x, count, dim):
    return _split(e, x, _chunks(x, count, dim), dim)


@view("tensor_split.sections", inverse=lambda e, base, part, count, dim: _write_piece(e, base, part, _sections(base, count, dim), dim))
def tensor_split(e, x, count, dim):
    return _split(e, x, _sections(x, count, dim), dim)


@view("unbind.int", inverse=lambda e, base, part, dim: write_select(e, base, part[1], dim, part[0]))
def unbind(e, x, dim):
    dim = x.axis(dim)
    count = x.size(dim)
    return [e.squeeze(part, [dim]) for part in _split(e, x, [1] * count, dim)]


def _diagonal_mask(base, offset, first, second):
    shape = [1] * base.rank
    shape[first], shape[second] = base.size(first), base.size(second)
    rows, columns = (shape[first], shape[second])
    mask = np.eye(rows, columns, offset, dtype=bool)
    return (mask if first < second else mask.T).reshape(shape)


def _diagonal_indices(x, offset, first, second):
    rows = np.arange(max(0, -offset), min(x.size(first), x.size(second) - offset))
    return rows, rows + offset


def _write_diagonal(e, base, new, offset, first, second):
    """The new values stand in the last dimension: spread along the second one, then chosen by the mask."""
    first, second = base.axis(first), base.axis(second)
    rows, _ = _diagonal_indices(base, offset, first, second)
    where = np.zeros(base.size(first), np.int64)
    where[rows] = np.arange(len(rows))
    spread = e.op("Gather", new, e.ints(where), axis=new.rank - 1)
    rest = [d for d in range(base.rank) if d not in (first, second)]
    order = [0] * base.rank
    for position, d in enumerate([*rest, first, second]):
        order[d] = position
    spread = e.transpose(e.unsqueeze(spread, [base.rank - 1]), order)
    return e.where(e.array(_diagonal_mask(base, offset, first, second)), spread, base)


@view("diagonal", inverse=_write_diagonal)
def diagonal(e, x, offset, first, second):
    first, second = x.axis(first), x.axis(second)
    rows, columns = _diagonal_indices(x, offset, first, second)
    rest = [d for d in range(x.rank) if d not in (first, second)]
    flat = e.reshape(e.transpose(x, [*rest, first, second]), [*(e.dim(x, d) for d in rest), x.size(first) * x.size(second)])
    return e.op("Gather", flat, e.ints(rows * x.size(second) + columns), axis=len(rest))


@rule("unfold")
def unfold(e, x, dim, size, step):
    dim = x.axis(dim)
    starts = np.arange(0, x.size(dim) - size + 1, step)
    windows = e.op("Gather", x, e.array(starts[:, None] + np.arange(size)), axis=dim)
    order = [d for d in range(x.rank + 1) if d != dim + 1]
    return e.transpose(windows, [*order, dim + 1])


# Repetition ---------------------------------------------------------------------------------------

@view("expand", inverse=None)
def expand(e, x, sizes):
    lead = len(sizes) - x.rank
    full = [x_size if size == -1 else size for size, x_size in zip(sizes, [1] * lead + [None] * x.rank)]
    full = [e.dim(x, i - lead) if size is None else size for i, size in enumerate(full)]
    return e.op("Expand", x, e.vector(full))


@view("expand_as", inverse=None)
def expand_as(e, x, other):
    return e.op("Expand", x, e.vector(e.dims(other)))


@rule("broadcast_to")
def broadcast_to(e, x, sizes):
    return expand(e, x, sizes)


@rule("broadcast_tensors")
def broadcast_tensors(e, xs):
    """Each added to zeros of the others' shapes would change signs of zero; expanded by the shapes instead."""
    shape = [max((x.shape[d - (rank - x.rank)] for x in xs if d >= rank - x.rank), key=lambda s: 0 if s == 1 else 1 if s is None else 2)
             for rank in [max(x.rank for x in xs)] for d in range(rank)]
    rank = len(shape)
    sizes = [size if size is not None else next(e.dim(x, d - (rank - x.rank)) for x in xs if d >= rank - x.rank and
                                                x.shape[d - (rank - x.rank)] is None) for d, size in enumerate(shape)]
    return [x if list(x.shape) == shape and None not in shape else e.op("Expand", x, e.vector(sizes)) for x in xs]


@rule("repeat")
def repeat(e, x, counts):
    x = e.unsqueeze(x, list(range(len(counts) - x.rank)))
    return e.op("Tile", x, e.vector(counts))


@rule("tile")
def tile(e, x, counts):
    return repeat(e, x, [1] * (x.rank - len(counts)) + list(counts))


@rule("repeat_interleave.self_int")
def repeat_interleave(e, x, count, dim):
    if dim is None:
        x, dim = e.reshape(x, [-1]), 0
    dim = x.axis(dim)
    if x.shape[dim] is not None:
        return e.op("Gather", x, e.ints(np.repeat(np.arange(x.shape[dim]), count)), axis=dim)
    ones = [1] * (x.rank + 1)
    ones[dim + 1] = count
    sizes = e.dims(x)
    tiled = e.op("Tile", e.unsqueeze(x, [dim + 1]), e.ints(ones))
    return e.reshape(tiled, [*sizes[:dim], -1, *sizes[dim + 1:]])


# Joining ------------------------------------------------------------------------------------------

@rule("cat", "concat", "concatenate")
def cat(e, xs, dim):
    # Empty tensors of rank 1 are left out, as PyTorch does.
    xs = [x for x in xs if x.shape != (0,)] or xs[:1]
    xs = e.promote(*xs)
    return e.op("Concat", *xs, axis=xs[0].axis(dim)) if len(xs) > 1 else e.op("Identity", xs[0])


@rule("stack")
def stack(e, xs, dim):
    xs = e.promote(*xs)
    dim = dim + xs[0].rank + 1 if dim < 0 else dim
    parts = [e.unsqueeze(x, [dim]) for x in xs]
    return e.op("Concat", *parts, axis=dim) if len(parts) > 1 else parts[0]


@rule("hstack")
def hstack(e, xs):
    xs = [x if x.rank else e.unsqueeze(x, [0]) for x in xs]
    return cat(e, xs, 0 if xs[0].rank == 1 else 1)


@rule("vstack")
def vstack(e, xs):
    return cat(e, [e.reshape(x, [1, -1]) if x.rank < 2 else x for x in xs], 0)


@rule("meshgrid")
def meshgrid_rows(e, xs):
    return meshgrid(e, xs, "ij")


@rule("meshgrid.indexing")
def meshgrid(e, xs, indexing):
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[0], order[1] = 1, 0
    sizes = [None] * len(xs)
    for x, position in zip(xs, order):
        sizes[position] = e.dim(e.reshape(x, [-1]), 0)
    grids = []
    for x, position in zip(xs, order):
        shape = [1] * len(xs)
        shape[position] = -1
        grids.append(e.op("Expand", e.reshape(x, shape), e.vector(sizes)))
    return grids


# Order of elements --------------------------------------------------------------------------------

@rule("flip")
def flip(e, x, dims):
    dims = [x.axis(d) for d in dims]
    if not dims:
        return x
    count = len(dims)
    return e.op("Slice", x, e.ints([-1] * count), e.ints([-(2**63)] * count), e.ints(dims), e.ints([-1] * count))


@rule("roll")
def roll(e, x, shifts, dims):
    if not dims:
        return e.reshape(roll(e, e.reshape(x, [-1]), shifts, [0]), e.dims(x))
    for shift, dim in zip(shifts, dims):
        dim = x.axis(dim)
        shift = shift % x.size(dim) if x.shape[dim] is not None else shift
        if shift:
            x = e.op("Concat", e.slice(x, dim, -shift, _END), e.slice(x, dim, 0, -shift), axis=dim)
    return x


@rule("tril")
def tril(e, x, diagonal_):
    return e.op("Trilu", x, e.number(diagonal_, "i64"), upper=0)


@rule("triu")
def triu(e, x, diagonal_):
    return e.op("Trilu", x, e.number(diagonal_, "i64"), upper=1)


@rule("pixel_shuffle")
def pixel_shuffle(e, x, factor):
    return e.op("DepthToSpace", x, blocksize=factor, mode="CRD")


@rule("pixel_unshuffle")
def pixel_unshuffle(e, x, factor):
    batch, channels, height, width = e.dims(x)
    x = e.reshape(x, [batch, channels, x.size(2) // factor, factor, x.size(3) // factor, factor])
    return e.reshape(e.transpose(x, [0, 1, 3, 5, 2, 4]), [batch, channels * factor**2, x.size(2), x.size(4)])


@rule("channel_shuffle")
def channel_shuffle(e, x, groups):
    sizes = e.dims(x)
    split_ = e.reshape(x, [sizes[0], groups, x.size(1) // groups, *sizes[2:]])
    return e.reshape(e.transpose(split_, [0, 2, 1, *range(3, split_.rank)]), sizes)


# The same tensor ----------------------------------------------------------------------------------

@rule("contiguous", "clone", "lift_fresh_copy", "lift_fresh", "alias", "lift")
def same(e, x):
    return x


@rule("detach", "detach_copy", "detach_")
def detach(e, x):
    return e.stop_gradient(x) if x.is_float else x


@rule("copy")
def copy(e, x, source):
    return source if isinstance(source, Tensor) else e.like(source, x.dtype)


@rule("fill.Scalar", "fill.Tensor")
def fill(e, x, number):
    return e.op("Expand", e.like(number, x.dtype), e.vector(e.dims(x)))


@rule("zero")
def zero(e, x):
    return fill(e, x, 0)
