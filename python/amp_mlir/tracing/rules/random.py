"""Random numbers and dropout."""

import numpy as np

from ..emit import ONNX_CODES, dtype_name
from ..registry import rule


def drop(e, x, ratio):
    """Zeroes elements with probability `ratio` and divides the others by 1 - ratio."""
    return e.op("Dropout", x, e.number(ratio, "f32"), e.array(np.asarray(True)))


@rule("dropout")
def dropout(e, x, ratio, training):
    return drop(e, x, ratio) if training and ratio else x


@rule("native_dropout")
def native_dropout(e, x, ratio, training):
    if not training:
        return [x, None]
    return e.ops("Dropout", x, e.number(ratio, "f32"), e.array(np.asarray(True)), outputs=2)


def _channel_ones(e, x):
    sizes = [*e.dims(x)[:2], *[1] * (x.rank - 2)]
    return e.cast_like(e.full(sizes, 1, x.dtype), x)


@rule("feature_dropout")
def feature_dropout(e, x, ratio, training):
    """Whole channels at once."""
    return x * drop(e, _channel_ones(e, x), ratio) if training and ratio else x


def _alpha_dropout(e, x, mask, ratio):
    """Dropped elements become the value that selu goes to, then mean and variance are put back."""
    alpha = 1.7580993408473766
    a = (1 / ((alpha * alpha * ratio + 1) * (1 - ratio))) ** 0.5
    kept = mask > 0
    return e.where(kept, x * a, e.number(0, x.dtype)) + e.where(kept, e.number(alpha * a * ratio, x.dtype),
                                                               e.number(-alpha * a + alpha * a * ratio, x.dtype))


@rule("alpha_dropout")
def alpha_dropout(e, x, ratio, training):
    if not training or not ratio:
        return x
    return _alpha_dropout(e, x, drop(e, e.cast_like(e.full(e.dims(x), 1, x.dtype), x), ratio), ratio)


@rule("feature_alpha_dropout")
def feature_alpha_dropout(e, x, ratio, training):
    return _alpha_dropout(e, x, drop(e, _channel_ones(e, x), ratio), ratio) if training and ratio else x


# Drawn values -------------------------------------------------------------------------------------

def _drawn(e, kind, sizes, dtype, **attributes):
    code = ONNX_CODES["f32" if dtype is None else dtype_name(dtype)]
    if all(isinstance(size, int) for size in sizes):
        return e.op(kind, shape=list(sizes), dtype=code, **attributes)
    return e.op(f"{kind}Like", e.full(sizes, 0, "f32"), dtype=code, **attributes)


@rule("rand")
def rand(e, sizes, dtype):
    return _drawn(e, "RandomUniform", sizes, dtype)


@rule("randn")
def randn(e, sizes, dtype):
    return _drawn(e, "RandomNormal", sizes, dtype)


@rule("rand_like")
def rand_like(e, x, dtype):
    return e.op("RandomUniformLike", x, dtype=None if dtype is None else ONNX_CODES[dtype_name(dtype)])


@rule("randn_like")
def randn_like(e, x, dtype):
    return e.op("RandomNormalLike", x, dtype=None if dtype is None else ONNX_CODES[dtype_name(dtype)])


@rule("normal_functional")
def normal(e, x, mean, deviation):
    return e.op("RandomNormalLike", x, mean=float(mean), scale=float(deviation))


@rule("uniform")
def uniform(e, x, low, high):
    return e.op("RandomUniformLike", x, low=float(low), high=float(high))


@rule("bernoulli")
def bernoulli(e, probabilities):
    # Not ONNX's Bernoulli: engines that expand it as its specification did until lately draw the opposite.
    drawn = e.op("RandomUniformLike", probabilities, dtype=ONNX_CODES["f32"]) < e.cast(probabilities, "f32")
    return e.cast_like(e.cast(drawn, probabilities.dtype), probabilities)


@rule("bernoulli.p")
def bernoulli_p(e, x, probability):
    return e.cast_like(bernoulli(e, e.full(e.dims(x), probability, "f32")), x)
