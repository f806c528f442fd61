"""Convolutions and padding."""

import numpy as np

from ..errors import Refusal
from ..registry import rule


def spatial(value, rank):
    value = [value] if isinstance(value, int) else list(value)
    return value * rank if len(value) == 1 else value


def batched(e, function, x, rank):
    """Operators on images take a single one without its batch dimension, too."""
    if x.rank == rank + 1:
        return e.squeeze(function(e.unsqueeze(x, [0])), [0])
    return function(x)


def _convolve(e, x, weight, bias, stride, padding, dilation, groups):
    rank = weight.rank - 2
    stride, dilation = spatial(stride, rank), spatial(dilation, rank)
    if isinstance(padding, str):
        total = [d * (weight.size(2 + i) - 1) for i, d in enumerate(dilation)] if padding == "same" else [0] * rank
        # Of an odd number the larger half stands behind.
        pads = [t // 2 for t in total] + [t - t // 2 for t in total]
    else:
        pads = spatial(padding, rank) * 2
    return batched(e, lambda t: e.op("Conv", t, weight, bias, strides=stride, pads=pads, dilations=dilation, group=groups), x, rank)


@rule("conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding")
def convolve(e, x, weight, bias, stride, padding, dilation, groups):
    return _convolve(e, x, weight, bias, stride, padding, dilation, groups)


def _transposed(e, x, weight, bias, stride, padding, output_padding, groups, dilation):
    rank = weight.rank - 2
    stride, dilation, extra = (spatial(v, rank) for v in (stride, dilation, output_padding))
    pads = spatial(padding, rank) * 2
    return batched(e, lambda t: e.op("ConvTranspose", t, weight, bias, strides=stride, pads=pads, dilations=dilation, group=groups,
                                      output_padding=extra), x, rank)


rule("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")(_transposed)


@rule("convolution")
def convolution(e, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        return _transposed(e, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolve(e, x, weight, bias, stride, padding, dilation, groups)


# Padding ------------------------------------------------------------------------------------------

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(e, x, pads, mode, value=None):
    """`pads` hold front and back from the last dimension on; negative ones cut."""
    count = len(pads) // 2
    dims = [x.rank - 1 - i for i in range(count)]
    if any(not isinstance(p, int) for p in pads):
        raise Refusal("paddings have to be known, but one is symbolic")
    for dim, front, back in zip(dims, pads[::2], pads[1::2]):
        if front < 0 or back < 0:
            x = e.slice(x, dim, max(0, -front), 2**63 - 1 if back >= 0 else back)
    fronts = [max(0, p) for p in pads[::2]][::-1]
    backs = [max(0, p) for p in pads[1::2]][::-1]
    if not any(fronts + backs):
        return x
    lead = [0] * (x.rank - count)
    fill = None if not value else e.number(value, x.dtype)
    return e.op("Pad", x, e.ints([*lead, *fronts, *lead, *backs]), fill, mode=_MODES[mode])


@rule("pad")
def pad(e, x, pads, mode, value):
    if mode not in _MODES:
        raise Refusal(f"mode={mode} is not supported")
    return _pad(e, x, pads, mode, value)


rule("constant_pad_nd")(lambda e, x, pads, value: _pad(e, x, pads, "constant", value))
rule("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")(lambda e, x, pads: _pad(e, x, pads, "reflect"))
rule("replication_pad1d", "replication_pad2d", "replication_pad3d")(lambda e, x, pads: _pad(e, x, pads, "replicate"))


@rule("im2col")
def im2col(e, x, kernel, dilation, padding, stride):
    """Patches as columns: (N, C * kh * kw, positions)."""
    if x.rank != 4:
        raise Refusal("unfold of a tensor without batch dimension is not supported")
    x = _pad(e, x, [padding[1], padding[1], padding[0], padding[0]], "constant")
    batch, channels = e.dim(x, 0), e.dim(x, 1)
    places = []
    for i in range(2):
        count = (x.size(2 + i) - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        places.append(np.arange(kernel[i])[:, None] * dilation[i] + np.arange(count) * stride[i])
    rows = e.op("Gather", x, e.array(places[0]), axis=2)
    patches = e.op("Gather", rows, e.array(places[1]), axis=4)
    patches = e.transpose(patches, [0, 1, 2, 4, 3, 5])
    depth = -1 if not isinstance(channels, int) else channels * kernel[0] * kernel[1]
    return e.reshape(patches, [batch, depth, places[0].shape[1] * places[1].shape[1]])


@rule("col2im")
def col2im(e, x, size, kernel, dilation, padding, stride):
    return e.op("Col2Im", x, e.ints(size), e.ints(kernel), dilations=list(dilation), pads=list(padding) * 2, strides=list(stride))
