"""Losses. `reduction` is 0 for none, 1 for mean, 2 for sum."""

import math

from ..errors import Refusal
from ..registry import CPU, CUDA, composite, rule
from .matmul import pairwise_distance

_REDUCTIONS = ("none", "mean", "sum")
_BOTH = (CUDA, CPU)


def _reduced(e, x, reduction):
    if reduction == 0:
        return x
    return e.reduce("ReduceMean" if reduction == 1 else "ReduceSum", x, None)


# Classification -----------------------------------------------------------------------------------

def _class_loss(e, kind, x, target, weight, reduction, ignored):
    """ONNX wants a batch dimension."""
    if x.rank == 1:
        loss = _class_loss(e, kind, e.unsqueeze(x, [0]), e.reshape(target, [1]), weight, reduction, ignored)
        return e.reshape(loss, []) if reduction == 0 else loss
    return e.op(kind, x, e.cast(target, "i64"), weight, ignore_index=ignored, reduction=_REDUCTIONS[reduction])


@rule("nll_loss", "nll_loss2d", "nll_loss_nd")
def nll_loss(e, x, target, weight, reduction, ignored):
    return _class_loss(e, "NegativeLogLikelihoodLoss", x, target, weight, reduction, ignored)


@rule("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(e, x, target, weight, reduction, ignored):
    return [nll_loss(e, x, target, weight, reduction, ignored), None]


@rule("cross_entropy_loss")
def cross_entropy(e, x, target, weight, reduction, ignored, smoothing):
    if target.is_float:
        return _soft_cross_entropy(e, e.widen(x), e.widen(target), weight, reduction, smoothing)
    if smoothing == 0:
        return _class_loss(e, "SoftmaxCrossEntropyLoss", x, target, weight, reduction, ignored)
    return _smoothed_cross_entropy(e, e.widen(x), target, weight, reduction, ignored, smoothing)


def _along_classes(e, weight, x):
    return e.reshape(weight, [-1] + [1] * (x.rank - 2)) if x.rank > 1 else weight


def _soft_cross_entropy(e, x, target, weight, reduction, smoothing):
    """Targets are probabilities of the classes; a mean is one over the batch."""
    axis = 1 if x.rank > 1 else 0
    if smoothing:
        target = target * (1 - smoothing) + smoothing / x.size(axis)
    terms = e.op("LogSoftmax", x, axis=axis) * target
    if weight is not None:
        terms = terms * _along_classes(e, weight, x)
    loss = -e.reduce("ReduceSum", terms, [axis])
    if reduction != 1:
        return _reduced(e, loss, reduction)
    return e.reduce("ReduceMean", loss, None) if loss.rank else loss


def _smoothed_cross_entropy(e, x, target, weight, reduction, ignored, smoothing):
    """(1 - s) * loss of the target + s / classes * the sum of all classes' losses, both weighted; targets that are ignored count nowhere."""
    if x.rank == 1:
        loss = _smoothed_cross_entropy(e, e.unsqueeze(x, [0]), e.reshape(target, [1]), weight, reduction, ignored, smoothing)
        return e.reshape(loss, []) if reduction == 0 else loss
    target = e.cast(target, "i64")
    logs = e.op("LogSoftmax", x, axis=1)
    keep = e.op("Not", e.op("Equal", target, e.number(ignored, "i64")))
    zero = e.number(0, x.dtype)
    safe = e.where(keep, target, e.number(0, "i64"))
    picked = e.squeeze(e.op("GatherElements", logs, e.unsqueeze(safe, [1]), axis=1), [1])
    factor = None if weight is None else e.op("Gather", weight, safe, axis=0)
    own = -picked if factor is None else -picked * factor
    spread = -e.reduce("ReduceSum", logs if weight is None else logs * _along_classes(e, weight, x), [1])
    loss = e.where(keep, own * (1 - smoothing) + spread * (smoothing / x.size(1)), zero)
    if reduction != 1:
        return _reduced(e, loss, reduction)
    share = e.where(keep, e.number(1, x.dtype) if factor is None else factor, zero)
    return e.reduce("ReduceSum", loss, None) / e.reduce("ReduceSum", share, None)


@composite("binary_cross_entropy_with_logits", wide=_BOTH)
def bce_with_logits(e, x, target, weight, positive, reduction):
    """(1 - y) x + (1 + (p - 1) y) log(1 + exp(-x))."""
    x, target = e.promote(x, target)
    tail = e.op("Softplus", -x)
    if positive is not None:
        tail = tail * (target * (positive - 1) + 1)
    loss = (1 - target) * x + tail
    return _reduced(e, loss if weight is None else loss * weight, reduction)


@composite("binary_cross_entropy", wide=(CPU,))
def bce(e, x, target, weight, reduction):
    """Logarithms are bounded by -100 from below."""
    if e.policy == CUDA:
        raise Refusal("binary_cross_entropy is unsafe under autocast; use binary_cross_entropy_with_logits")
    low = e.number(-100, x.dtype)
    loss = -(target * e.op("Max", e.op("Log", x), low) + (1 - target) * e.op("Max", e.op("Log", 1 - x), low))
    return _reduced(e, loss if weight is None else loss * weight, reduction)


# Distance -----------------------------------------------------------------------------------------

@composite("mse_loss", wide=_BOTH)
def mse_loss(e, x, y, reduction):
    x, y = e.promote(x, y)
    difference = x - y
    return _reduced(e, difference * difference, reduction)


@composite("l1_loss", wide=_BOTH)
def l1_loss(e, x, y, reduction):
    x, y = e.promote(x, y)
    return _reduced(e, e.op("Abs", x - y), reduction)


@composite("smooth_l1_loss", wide=_BOTH)
def smooth_l1_loss(e, x, y, reduction, beta):
    if beta == 0:
        return l1_loss(e, x, y, reduction)
    x, y = e.promote(x, y)
    difference = x - y
    size = e.op("Abs", difference)
    return _reduced(e, e.where(size < beta, difference * difference * (0.5 / beta), size - 0.5 * beta), reduction)


@composite("huber_loss", wide=_BOTH)
def huber_loss(e, x, y, reduction, delta):
    x, y = e.promote(x, y)
    difference = x - y
    size = e.op("Abs", difference)
    return _reduced(e, e.where(size <= delta, difference * difference * 0.5, (size - 0.5 * delta) * delta), reduction)


@composite("kl_div", wide=_BOTH)
def kl_div(e, x, target, reduction, log_target):
    if log_target:
        return _reduced(e, e.op("Exp", target) * (target - x), reduction)
    positive = target > 0
    safe = e.where(positive, target, e.number(1, target.dtype))
    # 0 log 0 is 0, also in the gradient.
    entropy = e.where(positive, target * e.op("Log", safe), e.number(0, target.dtype))
    return _reduced(e, entropy - target * x, reduction)


@composite("poisson_nll_loss", wide=_BOTH)
def poisson_nll_loss(e, x, target, log_input, full, eps, reduction):
    loss = e.op("Exp", x) - target * x if log_input else x - target * e.op("Log", x + eps)
    if full:
        safe = e.where(target > 1, target, e.number(1, target.dtype))
        stirling = safe * e.op("Log", safe) - safe + e.op("Log", safe * (2 * math.pi)) * 0.5
        loss = loss + e.where(target > 1, stirling, e.number(0, target.dtype))
    return _reduced(e, loss, reduction)


# Margins ------------------------------------------------------------------------------------------

def _hinged(e, x):
    """max(x, 0), whose gradient at 0 is PyTorch's of clamp_min: 1."""
    return e.op("Clip", x, e.number(0, x.dtype))


@composite("margin_ranking_loss", wide=_BOTH)
def margin_ranking_loss(e, x, y, target, margin, reduction):
    return _reduced(e, _hinged(e, -target * (x - y) + margin), reduction)


@composite("hinge_embedding_loss", wide=_BOTH)
def hinge_embedding_loss(e, x, target, margin, reduction):
    one, minus = e.number(1, target.dtype), e.number(-1, target.dtype)
    far = e.where(e.op("Equal", target, one), e.number(0, x.dtype), _hinged(e, margin - x))
    near = e.where(e.op("Equal", target, minus), e.number(0, x.dtype), x)
    return _reduced(e, far + near, reduction)


@composite("soft_margin_loss", wide=_BOTH)
def soft_margin_loss(e, x, target, reduction):
    return _reduced(e, e.op("Softplus", -target * x), reduction)


@composite("cosine_embedding_loss", wide=_BOTH)
def cosine_embedding_loss(e, x, y, target, margin, reduction):
    dim, eps = x.rank - 1, 1e-12
    def squares(t):
        return e.reduce("ReduceSum", t * t, dim) + eps
    cosine = e.reduce("ReduceSum", x * y, dim) / e.op("Sqrt", squares(x) * squares(y))
    zero = e.number(0, x.dtype)
    one, minus = e.number(1, target.dtype), e.number(-1, target.dtype)
    near = e.where(e.op("Equal", target, one), 1 - cosine, zero)
    far = e.where(e.op("Equal", target, minus), _hinged(e, cosine - margin), zero)
    return _reduced(e, near + far, reduction)


@composite("triplet_margin_loss", wide=_BOTH)
def triplet_margin_loss(e, anchor, positive, negative, margin, order, eps, swap, reduction):
    def distance(a, b):
        return pairwise_distance(e, a, b, order, eps, False)
    far = distance(anchor, negative)
    if swap:
        far = e.op("Min", far, distance(positive, negative))
    return _reduced(e, _hinged(e, distance(anchor, positive) - far + margin), reduction)


@composite("multi_margin_loss", wide=_BOTH)
def multi_margin_loss(e, x, target, order, margin, weight, reduction):
    if x.rank == 1:
        x, target = e.unsqueeze(x, [0]), e.reshape(target, [1])
    places = e.unsqueeze(target, [1])
    own = e.op("GatherElements", x, places, axis=1)
    slack = _hinged(e, margin - own + x)
    if order == 2:
        slack = slack * slack
    if weight is not None:
        slack = slack * e.unsqueeze(e.op("Gather", weight, target, axis=0), [1])
    classes = e.ints(range(x.size(1)))
    slack = e.where(e.op("Equal", places, classes), e.number(0, x.dtype), slack)
    return _reduced(e, e.reduce("ReduceSum", slack, 1) / float(x.size(1)), reduction)
