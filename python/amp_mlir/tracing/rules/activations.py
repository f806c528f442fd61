"""Activation functions."""

import torch

from ..emit import dtype_name
from ..errors import Refusal
from ..registry import composite, rule


def _single(kind, **attributes):
    return lambda e, x: e.op(kind, x, **attributes)


rule("relu")(_single("Relu"))
rule("selu")(_single("Selu"))
rule("silu")(_single("Swish"))
rule("mish")(_single("Mish"))
rule("hardswish")(_single("HardSwish"))
rule("hardsigmoid")(_single("HardSigmoid", alpha=1 / 6, beta=0.5))


@rule("relu6")
def relu6(e, x):
    return hardtanh(e, x, 0, 6)


@rule("hardtanh")
def hardtanh(e, x, low, high):
    """No gradient passes at the bounds: a Clip would let it pass."""
    low, high = e.number(low, x.dtype), e.number(high, x.dtype)
    return e.where(x <= low, low, e.where(x >= high, high, x))


@rule("leaky_relu")
def leaky_relu(e, x, slope):
    return e.op("LeakyRelu", x, alpha=float(slope))


@rule("elu")
def elu(e, x, alpha, scale, input_scale):
    if scale == 1 and input_scale == 1:
        return e.op("Elu", x, alpha=float(alpha))
    return e.where(x > 0, x * scale, e.op("Elu", x * input_scale, alpha=float(alpha * scale)))


@rule("celu")
def celu(e, x, alpha):
    if e.policy is None and x.dtype == "f32":
        return e.op("Celu", x, alpha=float(alpha))
    # ONNX has Celu for float32 only.
    return e.op("Elu", x / float(alpha), alpha=1.0) * float(alpha)


@rule("prelu", "_prelu_kernel")
def prelu(e, x, weight):
    """The slopes lie along dimension 1."""
    if x.rank > 2 and weight.count() > 1:
        weight = e.reshape(weight, [weight.count()] + [1] * (x.rank - 2))
    return e.op("PRelu", x, weight)


@rule("rrelu")
def rrelu(e, x, lower, upper, training):
    if training and lower != upper:
        raise Refusal("random slopes in training are not supported; use leaky_relu")
    return leaky_relu(e, x, (lower + upper) / 2)


@rule("gelu")
def gelu(e, x, approximate):
    return e.op("Gelu", x, approximate=approximate)


@rule("softplus")
def softplus(e, x, beta, threshold):
    """log(1 + exp(beta x)) / beta; beyond the threshold the kernel gives x, from which the value differs by less than e^-threshold."""
    scaled = x if beta == 1 else x * float(beta)
    result = e.op("Softplus", scaled)
    if beta != 1:
        result = result / float(beta)
    return result if threshold >= 20 else e.where(scaled > float(threshold), x, result)


@rule("softmax.int", "_softmax")
def softmax(e, x, dim, dtype):
    return _normalized(e, "Softmax", x, dim, dtype)


@rule("log_softmax.int", "_log_softmax", "special_log_softmax")
def log_softmax(e, x, dim, dtype):
    return _normalized(e, "LogSoftmax", x, dim, dtype)


def _normalized(e, kind, x, dim, dtype):
    if isinstance(dtype, torch.dtype):
        x = e.cast(x, dtype_name(dtype)) if x.dtype != dtype_name(dtype) else e.widen(x)
    if x.rank == 0:
        return e.squeeze(e.op(kind, e.unsqueeze(x, [0]), axis=0), [0])
    return e.op(kind, x, axis=x.axis(dim))


@composite("log_sigmoid")
def log_sigmoid(e, x):
    return -e.op("Softplus", -x)


@rule("hardshrink")
def hardshrink(e, x, bound):
    return e.op("Shrink", x, lambd=float(bound), bias=0.0)


@rule("softshrink")
def softshrink(e, x, bound):
    return e.op("Shrink", x, lambd=float(bound), bias=float(bound))


@rule("threshold")
def threshold(e, x, bound, value):
    return e.where(x > bound, x, e.number(value, x.dtype))


@rule("glu")
def glu(e, x, dim):
    left, gate = e.ops("Split", x, outputs=2, axis=x.axis(dim), num_outputs=2)
    return left * e.op("Sigmoid", gate)
