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
        return ((y * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype),)


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


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm(x, h, c, w, r, b, p):
    wi, wo, wf, wc = np.split(x @ w.T + h @ r.T + b.reshape(2, -1).sum(0), 4, -1)
    pi, po, pf = np.split(p, 3)
    i, f = _sigmoid(wi + pi * c), _sigmoid(wf + pf * c)
    c = f * c + i * np.tanh(wc)
    return _sigmoid(wo + po * c) * np.tanh(c), c


def _gru(x, h, w, r, b, reset_after):
    (wz, wr, wn), (rz, rr, rn), (bz, br, bn, cz, cr, cn) = np.split(w, 3), np.split(r, 3), np.split(b, 6)
    z, reset = _sigmoid(x @ wz.T + h @ rz.T + bz + cz), _sigmoid(x @ wr.T + h @ rr.T + br + cr)
    n = np.tanh(x @ wn.T + bn + (reset * (h @ rn.T + cn) if reset_after else (reset * h) @ rn.T + cn))
    return (1 - z) * n + z * h


class _Recurrent(OpRun):
    """All of LSTM, GRU and RNN but their step: directions, layouts, lengths."""
    gates = 1

    def scan(self, step, x, w, r, b, lens, h0, c0, direction, layout):
        if layout:
            x = x.swapaxes(0, 1)
            h0, c0 = (value if value is None else value.swapaxes(0, 1) for value in (h0, c0))
        time, batch = x.shape[:2]
        directions, hidden = r.shape[0], r.shape[2]
        zeros = np.zeros((directions, batch, hidden), x.dtype)
        h0, c0 = zeros if h0 is None else h0, zeros if c0 is None else c0
        b = np.zeros((directions, 2 * w.shape[1]), x.dtype) if b is None else b
        lens = np.full(batch, time) if lens is None else lens
        y, hs, cs = np.zeros((time, directions, batch, hidden), x.dtype), [], []
        for d in range(directions):
            h, c = h0[d], c0[d]
            for t in range(time)[:: -1 if direction == "reverse" or d else 1]:
                inside = (t < lens)[:, None]
                new_h, new_c = step(d, x[t], h, c, w[d], r[d], b[d])
                h, c = np.where(inside, new_h, h), np.where(inside, new_c, c)
                y[t, d] = np.where(inside, h, 0)
            hs.append(h), cs.append(c)
        h, c = np.stack(hs), np.stack(cs)
        return (y.transpose(2, 0, 1, 3), h.swapaxes(0, 1), c.swapaxes(0, 1)) if layout else (y, h, c)


class LSTM(_Recurrent):
    op_domain = ""

    def _run(self, x, w, r, b=None, lens=None, h0=None, c0=None, p=None, direction=None, layout=None, **_):
        p = np.zeros((r.shape[0], 3 * r.shape[2]), x.dtype) if p is None else p
        return self.scan(lambda d, x, h, c, w, r, b: _lstm(x, h, c, w, r, b, p[d]), x, w, r, b, lens, h0, c0, direction, layout)


class GRU(_Recurrent):
    op_domain = ""

    def _run(self, x, w, r, b=None, lens=None, h0=None, direction=None, layout=None, linear_before_reset=None, **_):
        step = lambda d, x, h, c, w, r, b: (_gru(x, h, w, r, b, linear_before_reset), c)
        return self.scan(step, x, w, r, b, lens, h0, None, direction, layout)[:2]


class RNN(_Recurrent):
    op_domain = ""

    def _run(self, x, w, r, b=None, lens=None, h0=None, direction=None, layout=None, activations=None, **_):
        activate = (lambda v: np.maximum(v, 0)) if activations and activations[0] == "Relu" else np.tanh
        step = lambda d, x, h, c, w, r, b: (activate(x @ w.T + h @ r.T + b.reshape(2, -1).sum(0)), c)
        return self.scan(step, x, w, r, b, lens, h0, None, direction, layout)[:2]


OPERATORS = [Conv, ConvTranspose, GRU, GroupNormalization, LSTM, LpNormalization, MaxPool, MeanVarianceNormalization, RNN]
