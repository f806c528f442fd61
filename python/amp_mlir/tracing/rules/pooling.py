"""Pooling over windows and over whole images."""

import numpy as np

from ..errors import Refusal
from ..registry import rule
from .convolution import batched, spatial


def _window(rank, kernel, stride, padding):
    kernel = spatial(kernel, rank)
    return {"kernel_shape": kernel, "strides": spatial(stride, rank) if stride else kernel, "pads": spatial(padding, rank) * 2}


def _max_pool(rank):
    def pool(e, x, kernel, stride, padding, dilation, ceil_mode):
        return batched(e, lambda t: e.op("MaxPool", t, dilations=spatial(dilation, rank), ceil_mode=int(ceil_mode),
                                          **_window(rank, kernel, stride, padding)), x, rank)
    return pool


def _max_pool_with_indices(rank):
    def pool(e, x, kernel, stride, padding, dilation, ceil_mode):
        if x.rank != rank + 2:
            raise Refusal("indices of a single image are not supported: give it a batch dimension")
        values, places = e.ops("MaxPool", x, outputs=2, dilations=spatial(dilation, rank), ceil_mode=int(ceil_mode),
                               **_window(rank, kernel, stride, padding))
        # ONNX counts through the whole tensor, PyTorch within a channel.
        return [values, e.op("Mod", places, e.number(x.count(range(2, x.rank)), "i64"))]
    return pool


def _average_pool(rank):
    def pool(e, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
        window = _window(rank, kernel, stride, padding)
        if divisor is not None:
            count_include_pad = True
        result = batched(e, lambda t: e.op("AveragePool", t, ceil_mode=int(ceil_mode), count_include_pad=int(count_include_pad), **window),
                          x, rank)
        return result if divisor is None else result * (float(np.prod(window["kernel_shape"])) / divisor)
    return pool


for _rank in (1, 2, 3):
    rule(f"max_pool{_rank}d")(_max_pool(_rank))
    rule(f"max_pool{_rank}d_with_indices")(_max_pool_with_indices(_rank))


@rule("avg_pool1d")
def avg_pool1d(e, x, kernel, stride, padding, ceil_mode, count_include_pad):
    return _average_pool(1)(e, x, kernel, stride, padding, ceil_mode, count_include_pad, None)


rule("avg_pool2d")(_average_pool(2))
rule("avg_pool3d")(_average_pool(3))


# Windows of whatever size gives the wanted output ---------------------------------------------------

def _adaptive(rank, kind):
    def pool(e, x, sizes):
        return batched(e, lambda t: _adapt(e, t, sizes, rank, kind), x, rank)
    return pool


def _adapt(e, x, sizes, rank, kind):
    sizes = [e.dim(x, 2 + i) if size is None else size for i, size in enumerate(spatial(sizes, rank))]
    if all(size == 1 for size in sizes):
        return e.op(f"Global{kind}Pool", x)
    inputs = [x.size(2 + i) for i in range(rank)]
    if sizes == inputs:
        return e.op("Identity", x)
    if all(n % size == 0 for n, size in zip(inputs, sizes)):
        window = [n // size for n, size in zip(inputs, sizes)]
        return e.op(f"{kind}Pool", x, kernel_shape=window, strides=window)
    # Windows differ: a mean of means and a maximum of maxima, one dimension after the other.
    reduction = "ReduceMean" if kind == "Average" else "ReduceMax"
    for i, (n, size) in enumerate(zip(inputs, sizes)):
        if n != size:
            windows = [(j * n // size, -(-(j + 1) * n // size)) for j in range(size)]
            x = e.op("Concat", *[e.reduce(reduction, e.slice(x, 2 + i, *window), [2 + i], True) for window in windows], axis=2 + i)
    return x


for _rank in (1, 2, 3):
    rule(f"adaptive_avg_pool{_rank}d")(_adaptive(_rank, "Average"))
rule("_adaptive_avg_pool2d")(_adaptive(2, "Average"))
rule("_adaptive_avg_pool3d")(_adaptive(3, "Average"))


def _adaptive_max(rank):
    def pool(e, x, sizes):
        # The places are a further result, which is refused if it is used.
        return [_adaptive(rank, "Max")(e, x, sizes), None]
    return pool


for _rank in (1, 2, 3):
    rule(f"adaptive_max_pool{_rank}d")(_adaptive_max(_rank))
