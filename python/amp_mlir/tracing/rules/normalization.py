"""Normalizations. Batch statistics are state: their new values are written to the running ones."""

import numpy as np

from ..errors import Refusal
from ..registry import effect, rule

_NUMPY = {"f64": np.float64}


def _vector(e, number, count, dtype="f32"):
    return e.array(np.full(count, number, _NUMPY.get(dtype, np.float32)))


def _scale_and_bias(e, x, weight, bias):
    """Ones and zeros of the parameters' type for those that are absent."""
    channels = x.size(1) if weight is None and bias is None else (weight if weight is not None else bias).size(0)
    dtype = "f64" if x.dtype == "f64" else "f32"
    return (weight if weight is not None else _vector(e, 1, channels, dtype),
            bias if bias is not None else _vector(e, 0, channels, dtype))


@effect("batch_norm")
def batch_norm(e, x, weight, bias, mean, variance, training, momentum, eps):
    """Training: statistics of the batch, and the running ones move towards them; the variance that is kept is the unbiased one."""
    x, weight, bias = (cell and cell.read() for cell in (x, weight, bias))
    scale, shift = _scale_and_bias(e, x, weight, bias)
    if not training:
        if mean is None:
            raise Refusal("statistics of the batch in evaluation mode are not supported: track_running_stats=True keeps them")
        return e.op("BatchNormalization", x, scale, shift, mean.read(), variance.read(), epsilon=float(eps))
    channels, dtype = scale.size(0), scale.dtype
    old_mean = mean.read() if mean else _vector(e, 0, channels, dtype)
    old_variance = variance.read() if variance else _vector(e, 1, channels, dtype)
    keep = 1.0 - float(momentum)
    kept = old_variance * keep
    result, new_mean, new_variance = e.ops("BatchNormalization", x, scale, shift, old_mean, old_variance, outputs=3, epsilon=float(eps),
                                           momentum=keep, training_mode=1)
    if mean:
        mean.write(new_mean)
        variance.write(_unbiased(e, x, kept, new_variance))
    return result


def _unbiased(e, x, kept, new):
    """With b the biased variance and n values each: kept + (1 - keep) * b  ->  kept + (1 - keep) * b * n / (n - 1)."""
    dims = [0, *range(2, x.rank)]
    if all(x.shape[d] is not None for d in dims):
        count = x.count(dims)
        if count < 2:
            raise Refusal("there is one value for each channel, of which there is no variance to train with")
        return new + (new - kept) * (1.0 / (count - 1))
    count = e.cast(e.reduce("ReduceProd", e.vector([e.dim(x, d) for d in dims]), None), new.dtype)
    return new + (new - kept) / (count - 1)


@effect("instance_norm")
def instance_norm(e, x, weight, bias, mean, variance, use_input_stats, momentum, eps):
    if not use_input_stats:
        return batch_norm(e, x, weight, bias, mean, variance, False, momentum, eps)
    if mean is not None:
        raise Refusal("running statistics of instance normalization are not supported in training: track_running_stats=False")
    x, weight, bias = (cell and cell.read() for cell in (x, weight, bias))
    scale, shift = (e.cast_like(v, x) for v in _scale_and_bias(e, x, weight, bias))
    return e.op("InstanceNormalization", x, scale, shift, epsilon=float(eps))


@rule("layer_norm")
def layer_norm(e, x, shape, weight, bias, eps):
    if weight is None:
        weight = e.array(np.ones(list(shape), _NUMPY.get(x.dtype, np.float32)))
    return e.op("LayerNormalization", x, weight, bias, axis=-len(shape), epsilon=float(eps))


@rule("rms_norm")
def rms_norm(e, x, shape, weight, eps):
    if eps is None:
        eps = {"f64": 2.220446049250313e-16}.get(x.dtype, 1.1920928955078125e-07)
    if weight is None:
        weight = e.array(np.ones(list(shape), _NUMPY.get(x.dtype, np.float32)))
    return e.op("RMSNormalization", x, weight, axis=-len(shape), epsilon=float(eps))


@rule("group_norm")
def group_norm(e, x, groups, weight, bias, eps):
    scale, shift = _scale_and_bias(e, x, weight, bias)
    return e.op("GroupNormalization", x, scale, shift, num_groups=groups, epsilon=float(eps))
