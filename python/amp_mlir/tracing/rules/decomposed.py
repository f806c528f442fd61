"""Operators that only programs after torch.export's decompositions have."""

from ..errors import Refusal
from ..registry import effect, rule
from .normalization import batch_norm, group_norm, layer_norm


@rule("native_layer_norm")
def native_layer_norm(e, x, shape, weight, bias, eps):
    return [layer_norm(e, x, shape, weight, bias, eps), None, None]


@rule("native_group_norm")
def native_group_norm(e, x, weight, bias, batch, channels, rest, groups, eps):
    return [group_norm(e, x, groups, weight, bias, eps), None, None]


@effect("_native_batch_norm_legit_no_training")
def evaluated_batch_norm(e, x, weight, bias, mean, variance, momentum, eps):
    return [batch_norm(e, x, weight, bias, mean, variance, False, momentum, eps), None, None]


@effect("_native_batch_norm_legit_functional", "_native_batch_norm_legit", "native_batch_norm")
def trained_batch_norm(e, x, weight, bias, mean, variance, training, momentum, eps):
    raise Refusal("its statistics are results here, not state: give the module itself, not a decomposed program, to train it")
