"""Operators for onnx.reference that its own versions get wrong or compute in float32: written from the specification, in numpy."""
import itertools

import numpy as np
from onnx.reference.op_run import OpRun


def _window(shape, kernel, auto_pad, strides, dilations, pads):
    """Strides, dilations and pads with their defaults, automatic padding resolved for a window over `shape`."""
    rank = len(kernel)
    strides, dilations = list(strides or [1] * rank), list(dilations or [1] * rank)
    begin, end = [0] * rank, [0] * rank
    if auto_pad in (None, "NOTSET") and pads:
        begin, end = list(pads[:rank]), list(pads[rank:])
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        for i, size in enumerate(shape):
            total = max(((-(-size // strides[i])) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size, 0)
            begin[i], end[i] = (total // 2, total - total // 2) if auto_pad == "SAME_UPPER" else (total - total // 2, total // 2)
    return strides, dilations, begin, end


def _offsets(kernel, strides, dilations, counts):
    """For each kernel element: its index, and the slices that the window's starts read there."""
    for index in itertools.product(*map(range, kernel)):
        starts = [i * d for i, d in zip(index, dilations)]
        yield index, tuple(slice(s, s + (n - 1) * step + 1, step) for s, n, step in zip(starts, counts, strides))


class Conv(OpRun):
    op_domain = ""

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None, strides=None):
        kernel, group = w.shape[2:], group or 1
        strides, dilations, begin, end = _window(x.shape[2:], kernel, auto_pad, strides, dilations, pads)
        x = np.pad(x, [(0, 0), (0, 0), *zip(begin, end)])
        counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], kernel, dilations, strides)]
        y = np.zeros((x.shape[0], group, w.shape[0] // group, *counts), x.dtype)
        x = x.reshape(x.shape[0], group, -1, *x.shape[2:])
        w = w.reshape(group, w.shape[0] // group, *w.shape[1:])
        for index, where in _offsets(kernel, strides, dilations, counts):
            y += np.einsum("ngi...,goi->ngo...", x[(..., *where)], w[(..., *index)])
        y = y.reshape(y.shape[0], -1, *counts)
        return (y if b is None else y + b.reshape(-1, *[1] * len(kernel)),)


class ConvTranspose(OpRun):
    op_domain = ""

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, output_padding=None,
             output_shape=None, pads=None, strides=None):
        kernel, group, rank = w.shape[2:], group or 1, w.ndim - 2
        strides, dilations = list(strides or [1] * rank), list(dilations or [1] * rank)
        extra = list(output_padding or [0] * rank)
        reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(x.shape[2:], strides, kernel, dilations)]
        begin, end = (list(pads[:rank]), list(pads[rank:])) if pads else ([0] * rank, [0] * rank)
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            output_shape = [n * s for n, s in zip(x.shape[2:], strides)]
        if output_shape:
            totals = [max(r + e - o, 0) for r, e, o in zip(reach, extra, output_shape[-rank:])]
            begin = [t // 2 if auto_pad == "SAME_UPPER" else t - t // 2 for t in totals]
            end = [t - p for t, p in zip(totals, begin)]
        y = np.zeros((x.shape[0], group, w.shape[1], *[r + e for r, e in zip(reach, extra)]), x.dtype)
        x = x.reshape(x.shape[0], group, -1, *x.shape[2:])
        w = w.reshape(group, w.shape[0] // group, *w.shape[1:])
        for index, where in _offsets(kernel, strides, dilations, x.shape[3:]):
            y[(..., *where)] += np.einsum("ngi...,gio->ngo...", x, w[(..., *index)])
        y = y[(..., *[slice(p, n - q) for p, q, n in zip(begin, end, y.shape[3:])])]
        y = y.reshape(y.shape[0], -1, *y.shape[3:])
        return (y if b is None else y + b.reshape(-1, *[1] * rank),)


class MaxPool(OpRun):
    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, pads=None, storage_order=None, strides=None):
        strides, dilations, begin, end = _window(x.shape[2:], kernel_shape, auto_pad, strides, dilations, pads)
        counts = []
        for n, k, s, d, p, q in zip(x.shape[2:], kernel_shape, strides, dilations, begin, end):
            slack = n + p + q - (k - 1) * d - 1
            count = (-(-slack // s) if ceil_mode else slack // s) + 1
            counts.append(count - 1 if ceil_mode and (count - 1) * s >= n + p else count)
        frame = [(c - 1) * s + (k - 1) * d + 1 for c, s, k, d in zip(counts, strides, kernel_shape, dilations)]
        x = np.pad(x, [(0, 0), (0, 0), *[(p, max(f - n - p, 0)) for p, f, n in zip(begin, frame, x.shape[2:])]],
                   constant_values=-np.inf)
        return (np.max([x[(..., *where)] for _, where in _offsets(kernel_shape, strides, dilations, counts)], axis=0),)


class GroupNormalization(OpRun):
    op_domain = ""

    def _run(self, x, scale, bias, epsilon=None, num_groups=None, stash_type=None):
        groups = x.reshape(x.shape[0], num_groups, -1)
        centered = groups - groups.mean(-1, keepdims=True)
        y = (centered / np.sqrt((centered ** 2).mean(-1, keepdims=True) + epsilon)).reshape(x.shape)
        shape = (-1, *[1] * (x.ndim - 2))
        return (y * scale.reshape(shape) + bias.reshape(shape),)


class LpNormalization(OpRun):
    op_domain = ""

    def _run(self, x, axis=None, p=None):
        norm = np.abs(x).sum(axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=True))
        return (x / np.where(norm == 0, 1, norm),)


class MeanVarianceNormalization(OpRun):
    op_domain = ""

    def _run(self, x, axes=None):
        axes = tuple(axes)
        centered = x - x.mean(axes, keepdims=True)
        return (centered / (np.sqrt((centered ** 2).mean(axes, keepdims=True)) + 1e-9),)


OPERATORS = [Conv, ConvTranspose, GroupNormalization, LpNormalization, MaxPool, MeanVarianceNormalization]
