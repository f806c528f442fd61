"""Arguments for every aten overload that has a rule. A case is a tuple of arguments; a dict at its end holds keywords."""

import math

import torch

_GENERATOR = torch.Generator().manual_seed(7)
INF, NAN = math.inf, math.nan


def f(*shape, low=None, high=None, dtype=torch.float32):
    """Normal numbers, or even ones between the bounds."""
    if low is None:
        return torch.randn(shape, generator=_GENERATOR).to(dtype)
    return (torch.rand(shape, generator=_GENERATOR) * (high - low) + low).to(dtype)


def i(*shape, low=0, high=5, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=_GENERATOR, dtype=dtype)


def b(*shape):
    return torch.rand(shape, generator=_GENERATOR) > 0.5


def t(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


EDGES = t(-INF, -3.5, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5, INF, NAN)
_PAIRS = [(f(2, 3), f(2, 3)), (f(2, 3), f(3)), (f(2, 1), f(1, 3)), (f(2, 3), f()), (f(2, 3), i(2, 3)), (i(2, 3), f()),
          (f(2, 3, dtype=torch.float16), f(3)), (i(2, 3), i(3, dtype=torch.int32))]
_SIGNED = t(7.0, -7.0, 7.0, -7.0, 6.0, -6.0), t(3.0, 3.0, -3.0, -3.0, 3.0, 3.0)
_WHOLE = t(7, -7, 7, -7, 6, -6, dtype=torch.int64), t(3, 3, -3, -3, 3, 3, dtype=torch.int64)
_ANY = [(f(2, 3),), (EDGES,), (f(4, dtype=torch.float16),), (f(),)]
_SMALL = [(f(2, 3, low=-0.9, high=0.9),)]
_POSITIVE = [(f(2, 3, low=0.1, high=3),)]


def _unary(names, cases):
    return dict.fromkeys(names.split(), cases)


ELEMENTWISE = {
    **_unary("sin cos atan sinh cosh tanh asinh sigmoid erf exp special_expit special_erf arctan expm1 special_expm1 erfc special_erfc",
             [(f(2, 3),), (i(4),), (f(),)]),
    **_unary("neg negative positive abs absolute sign sgn floor ceil round trunc fix", [*_ANY, (i(4, low=-3),)]),
    **_unary("frac", [(f(2, 3),)]),
    **_unary("tan asin acos atanh arcsin arccos", _SMALL),
    **_unary("log sqrt reciprocal rsqrt log2 log10 log1p special_log1p", [*_POSITIVE, (t(1e-7, 1e-3, 1.0, 50.0),)]),
    **_unary("exp2 special_exp2", [(f(2, 3),)]),
    **_unary("acosh", [(f(3, low=1.1, high=4),)]),
    **_unary("sinc special_sinc", [(t(0.0, 0.3, -1.0, 2.5),)]),
    **_unary("isnan isinf isfinite", [(EDGES,), (i(3),)]),
    **_unary("logical_not", [(b(3),), (t(0.0, 2.0),)]), "bitwise_not": [(b(3),), (i(3),)],
    "expm1": [(t(1e-6, -1e-6, 0.5, -0.5, 3.0, -20.0, 80.0),)],
    "add.Tensor": [*_PAIRS, (f(2), f(2), {"alpha": 2}), (b(3), b(3)), (f(2), 3), (i(3), 2.5)], "add.Scalar": [(f(2), 2), (i(2), 1.5)],
    "sub.Tensor": [*_PAIRS, (f(2), f(2), {"alpha": 2})], "sub.Scalar": [(f(2), 2)], "subtract.Tensor": _PAIRS[:1],
    "rsub.Tensor": _PAIRS[:2], "rsub.Scalar": [(f(2), 3.0), (f(2), 3, 2)],
    "mul.Tensor": [*_PAIRS, (b(3), b(3)), (b(3), f(3))], "mul.Scalar": [(f(2), 2)], "multiply.Tensor": _PAIRS[:1],
    "div.Tensor": [*_PAIRS, (i(3, low=1), i(3, low=1))], "div.Scalar": [(f(2), 3), (i(2), 2)], "divide.Tensor": _PAIRS[:1],
    "true_divide.Tensor": _PAIRS[:1],
    "div.Tensor_mode": [(*_SIGNED, {"rounding_mode": m}) for m in ("floor", "trunc", None)] +
                       [(*_WHOLE, {"rounding_mode": m}) for m in ("floor", "trunc")] + [(f(8), f(8), {"rounding_mode": "floor"})],
    "div.Scalar_mode": [(_SIGNED[0], 2.5, {"rounding_mode": "floor"})],
    "floor_divide": [_SIGNED, _WHOLE, (f(6), f(6))], "floor_divide.Scalar": [(_WHOLE[0], 2)],
    "remainder.Tensor": [_SIGNED, _WHOLE, (f(6), f(6))], "remainder.Scalar": [(_WHOLE[0], 3), (_SIGNED[0], 2.5)],
    "remainder.Scalar_Tensor": [(7, _WHOLE[1])],
    "fmod.Tensor": [_SIGNED, _WHOLE, (f(6), f(6))], "fmod.Scalar": [(_WHOLE[0], 3)],
    "pow.Tensor_Scalar": [(f(2, 3), 2), (f(3, low=0.1, high=2), 0.5), (i(3), 2)], "pow.Tensor_Tensor": [(f(3, low=0.1, high=2), f(3))],
    "pow.Scalar": [(2.0, f(3))], "square": [(f(3),)], "hypot": [(f(3), f(3))],
    "addcmul": [(f(3), f(2, 3), f(3)), (f(3), f(3), f(3), {"value": 2})],
    "addcdiv": [(f(3), f(3), f(3, low=1, high=2)), (f(3), f(3), f(3, low=1, high=2), {"value": 0.5})],
    "lerp.Scalar": [(f(3), f(3), 0.3)], "lerp.Tensor": [(f(3), f(3), f(3))],
    "maximum": _PAIRS[:3], "minimum": _PAIRS[:3], "max.other": _PAIRS[:1], "min.other": _PAIRS[:1],
    "fmax": [(t(1.0, NAN, 2.0, NAN), t(NAN, 3.0, 4.0, NAN))], "fmin": [(t(1.0, NAN, 2.0, NAN), t(NAN, 3.0, 4.0, NAN))],
    "clamp": [(f(6), -0.5, 0.5), (f(6), None, 0.2), (f(6), 0), (i(6), 1, 3), (i(6), 0.5)], "clip": [(f(6), -0.5, 0.5)],
    "clamp_min": [(f(6), 0.1)], "clamp_min.Tensor": [(f(6), f(6))], "clamp_max": [(f(6), 0.1)], "clamp_max.Tensor": [(f(6), f(6))],
    "clamp.Tensor": [(f(6), t(-0.5), t(0.5)), (f(6), f(6), f(6)), (f(6), None, f(6))], "clip.Tensor": [(f(6), t(-0.5), t(0.5))],
    **{f"{op}.Tensor": [(f(4), f(4)), (i(4), f(4)), (EDGES, EDGES.flip(0)), (i(4), i(4))] for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"{op}.Scalar": [(i(4), 2), (f(4), 0), (i(4), 1.5)] for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    **_unary("logical_and logical_or logical_xor", [(b(4), b(4)), (t(0.0, 1.0), t(2.0, 0.0))]),
    **{f"{op}.Tensor": [(b(4), b(4)), (i(4), i(4))] for op in ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__")},
    **{f"{op}.Scalar": [(i(4), 3)] for op in ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__")},
    "where.self": [(b(2, 3), f(2, 3), f(3)), (b(3), f(3), i(3))], "where.ScalarSelf": [(b(3), 1.0, f(3))],
    "where.ScalarOther": [(b(3), f(3), 2)], "where.Scalar": [(b(3), 1.0, 2.0)],
    "logit": [(f(3, low=0.1, high=0.9),), (t(0.0, 0.5, 1.0), 0.01)], "special_logit": [(f(3, low=0.1, high=0.9),)],
    "atan2": [(f(3, 4), f(3, 4)), (t(0.0, 1.0, -1.0, 0.0), t(-1.0, 0.0, 0.0, 1.0))],
    "xlogy.Tensor": [(t(0.0, 1.0, 2.0), t(0.0, 2.0, 3.0))], "special_xlogy": [(t(0.0, 2.0), t(0.0, 3.0))],
    "nan_to_num": [(EDGES,), (EDGES, 1.0, 2.0, -2.0)],
    "to.dtype": [(f(3), torch.float16), (f(3), torch.int64), (i(3), torch.float32), (f(3), torch.float64), (EDGES[:12], torch.bool)],
    "to.dtype_layout": [(f(3), {"dtype": torch.float16})], "_to_copy": [(f(3), {"dtype": torch.float64})],
    "to.device": [(f(3), torch.device("cpu"), torch.float64)], "to.other": [(f(3), i(2))], "type_as": [(f(3), i(2))],
}

ACTIVATIONS = {
    **_unary("relu selu silu mish hardswish hardsigmoid relu6 gelu elu celu leaky_relu hardtanh softplus log_sigmoid hardshrink softshrink",
             [(f(2, 5),), (t(-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0),)]),
    "gelu": [(f(2, 5),), (f(2, 5), {"approximate": "tanh"})], "elu": [(f(5),), (f(5), 0.7), (f(5), 0.7, 1.5, 2.0)], "celu": [(f(5), 0.6)],
    "leaky_relu": [(f(5), 0.2)], "hardtanh": [(f(5), -0.3, 0.4)], "softplus": [(f(5),), (f(5), 2.0, 0.5), (f(5), 0.5)],
    "hardshrink": [(f(5), 0.4)], "softshrink": [(f(5), 0.4)], "threshold": [(f(5), 0.1, -7.0)], "rrelu": [(f(5), 0.1, 0.3)],
    "prelu": [(f(2, 3, 4), t(0.25)), (f(2, 3, 4), f(3)), (f(2, 3), f(3))], "_prelu_kernel": [(f(2, 3), f(1, 3))],
    "softmax.int": [(f(2, 3), -1), (f(2, 3, 4), 1), (f(3), 0, torch.float64)], "_softmax": [(f(2, 3), 1, False)],
    "log_softmax.int": [(f(2, 3), -1), (f(2, 3, 4), 1)], "_log_softmax": [(f(2, 3), 1, False)], "special_log_softmax": [(f(2, 3), 1)],
    "glu": [(f(2, 6),), (f(4, 3), 0)],
}

SHAPES = {
    **_unary("view reshape _unsafe_view", [(f(2, 6), [3, 4]), (f(2, 6), [-1]), (f(2, 3, 4), [2, -1])]), "_reshape_alias": [(f(2, 3), [3, 2], [2, 1])],
    "view_as": [(f(2, 6), f(3, 4))], "reshape_as": [(f(2, 6), f(3, 4))],
    "flatten.using_ints": [(f(2, 3, 4),), (f(2, 3, 4), 1), (f(2, 3, 4), 0, 1), (f(),)], "unflatten.int": [(f(2, 6), 1, [2, -1]), (f(6, 2), 0, [2, 3])],
    "unsqueeze": [(f(2, 3), 0), (f(2, 3), -1), (f(2, 3), 1)], "squeeze": [(f(1, 3, 1),)], "squeeze.dim": [(f(1, 3), 0), (f(2, 3), 0), (f(3, 1), -1)],
    "squeeze.dims": [(f(1, 3, 1), [0, 1])],
    **_unary("transpose.int swapaxes swapdims", [(f(2, 3, 4), 0, 2), (f(2, 3, 4), -1, -2)]), "t": [(f(2, 3),), (f(3),)], "numpy_T": [(f(2, 3, 4),)],
    "mT": [(f(2, 3, 4),)], "adjoint": [(f(2, 3, 4),)], "permute": [(f(2, 3, 4), [2, 0, 1]), (f(2, 3), [-1, 0])],
    **_unary("movedim.int moveaxis.int", [(f(2, 3, 4), 0, 2), (f(2, 3, 4), -1, 0)]), **_unary("movedim.intlist moveaxis.intlist", [(f(2, 3, 4), [0, 1], [2, 0])]),
    "slice.Tensor": [(f(5, 3), 0, 1, 3), (f(5, 3), 1, -2), (f(5, 3), 0, 0, 9223372036854775807, 2), (f(5, 3), 0, 4, 2)],
    "narrow": [(f(5, 3), 0, 1, 3)], "select.int": [(f(3, 4), 0, 1), (f(3, 4), 1, -1), (f(3), 0, 2)],
    "select_scatter": [(f(3, 4), f(4), 0, 1), (f(3, 4), f(3), 1, -1)],
    "slice_scatter": [(f(5, 3), f(2, 3), 0, 1, 3), (f(5, 3), f(3, 3), 0, 0, 5, 2), (f(5, 3), f(5, 1), 1, 2)],
    "split.Tensor": [(f(5, 3), 2), (f(4, 3), 3, 1)], "split_with_sizes": [(f(5, 3), [1, 4])], "split.sizes": [(f(5, 3), [2, 3])],
    "chunk": [(f(5, 3), 2), (f(6, 3), 3, -1 + 1)], "tensor_split.sections": [(f(5, 3), 2)], "unbind.int": [(f(3, 2),), (f(3, 2), 1)],
    "diagonal": [(f(3, 4),), (f(4, 3), 1), (f(3, 3), -1), (f(2, 3, 4), 0, 1, 2)], "unfold": [(f(7, 2), 0, 3, 2)],
    "expand": [(f(1, 3), [2, 3]), (f(3), [2, -1]), (f(), [2, 2])], "expand_as": [(f(1, 3), f(2, 3))], "broadcast_to": [(f(3), [2, 3])],
    "broadcast_tensors": [([f(3, 1), f(1, 4), f(4)],)], "repeat": [(f(2, 3), [2, 1]), (f(3), [2, 2])], "tile": [(f(2, 3), [2])],
    "repeat_interleave.self_int": [(f(2, 3), 2), (f(2, 3), 2, 1)],
    **_unary("cat concat concatenate", [([f(2, 3), f(1, 3)],), ([f(2, 3), f(2, 1)], -1), ([f(2), i(2)],), ([f(0), f(2, 2)],), ([f(2)],)]),
    "stack": [([f(2, 3), f(2, 3)],), ([f(2), f(2), f(2)], -1)], "hstack": [([f(2), f(3)],), ([f(2, 1), f(2, 2)],)], "vstack": [([f(3), f(3)],), ([f(1, 2), f(2, 2)],)],
    "meshgrid": [([f(2), f(3)],)], "meshgrid.indexing": [([f(2), f(3)], {"indexing": "xy"}), ([f(2), f(3)], {"indexing": "ij"})],
    "flip": [(f(2, 3), [0]), (f(2, 3), [0, 1])], "roll": [(f(4, 3), [1], [0]), (f(4, 3), [1, -1], [0, 1]), (f(4, 3), [2])],
    "tril": [(f(3, 4),), (f(3, 4), 1)], "triu": [(f(3, 4),), (f(3, 4), -1)],
    "pixel_shuffle": [(f(2, 8, 3, 2), 2)], "pixel_unshuffle": [(f(2, 2, 4, 6), 2)], "channel_shuffle": [(f(2, 6, 3, 2), 3)],
    **_unary("contiguous clone lift_fresh_copy lift_fresh alias lift detach detach_copy", [(f(2, 3),)]), "detach_": [(f(3),)],
    "copy": [(f(2, 3), f(2, 3))], "fill.Scalar": [(f(3), 2.5)], "fill.Tensor": [(f(3), t(2.5).reshape([]))], "zero": [(f(3),)],
}

REDUCTIONS = {
    "sum.default": [(f(2, 3),), (i(3, dtype=torch.int32),), (b(4),), (f(3), {"dtype": torch.float64}), (f(),)],
    "sum.dim_IntList": [(f(2, 3, 4), [0, 2]), (f(2, 3), [-1], True), (f(2, 3), [])], "mean.default": [(f(2, 3),), (f(),)],
    "mean.dim": [(f(2, 3, 4), [1]), (f(2, 3), [0, 1], True), (i(3), [0], {"dtype": torch.float32})], "prod.default": [(f(4),)],
    "prod.dim_int": [(f(2, 3), 1)], "logsumexp": [(f(2, 3), [1]), (f(2, 3), [0], True)],
    "var.correction": [(f(4, 5), [1]), (f(4, 5), None, {"correction": 0}), (f(4, 5), [0], {"correction": 2, "keepdim": True})],
    "var.dim": [(f(4, 5), [1], False)], "var": [(f(4, 5),)], "std.correction": [(f(4, 5), [1])], "std.dim": [(f(4, 5), [1])], "std": [(f(4, 5),)],
    "var_mean.correction": [(f(4, 5), [1])], "std_mean.correction": [(f(4, 5), [1], {"correction": 0})],
    "linalg_vector_norm": [(f(3, 4),), (f(3, 4), 1, [1]), (f(3, 4), 3.0, [0], True), (f(3, 4), INF), (f(3, 4), -INF), (t(0.0, 1.0, 2.0), 0)],
    "norm.Scalar": [(f(3, 4),)], "norm.ScalarOpt_dim": [(f(3, 4), 2, [1], True)], "norm.ScalarOpt_dtype": [(f(3), 2, {"dtype": torch.float64})],
    "norm.ScalarOpt_dim_dtype": [(f(3, 4), 1, [0], False, {"dtype": torch.float64})], "linalg_norm": [(f(4),), (f(3, 4), 2, [1])],
    "amax": [(f(3, 4), [1]), (f(3, 4),)], "amin": [(f(3, 4), [1], True)], "max": [(f(3, 4),)], "min": [(f(3, 4),)],
    "argmax": [(f(3, 4),), (f(3, 4), 1), (f(3, 4), 0, True), (t(1.0, 3.0, 3.0),)], "argmin": [(f(3, 4), 1)],
    "max.dim": [(f(3, 4), 1), (f(3, 4), 0, True)], "min.dim": [(f(3, 4), 1)],
    "any": [(b(3),), (t(0.0, 0.0),)], "any.dim": [(b(3, 4), 1)], "any.dims": [(b(3, 4), [0, 1])], "all": [(b(3),)], "all.dim": [(b(3, 4), 1)], "all.dims": [(b(3, 4), [0])],
    "count_nonzero": [(i(3, 4, high=2),), (i(3, 4, high=2), 1)], "count_nonzero.dim_IntList": [(i(3, 4, high=2), [0])],
    "topk": [(f(3, 6), 2), (f(3, 6), 2, 0, False)], "sort": [(f(3, 6),), (f(3, 6), 0, True)], "sort.stable": [(f(3, 6), {"stable": True})],
    "argsort": [(f(3, 6),)], "cumsum": [(f(3, 4), 1), (i(3), 0)], "cumprod": [(f(3, 4), 1)], "logcumsumexp": [(f(3, 4), 1)],
}

INDEXING = {
    "embedding": [(f(5, 3), i(2, 4)), (f(5, 3), i(4), 1)], "one_hot": [(i(3), 5)], "index_select": [(f(4, 3), 0, i(2, high=4)), (f(4, 3), 1, i(2, high=3))],
    "gather": [(f(4, 3), 0, i(2, 3, high=4)), (f(4, 3), 1, i(4, 2, high=3))], "take_along_dim": [(f(4, 3), i(4, 1, high=3), 1), (f(4, 3), i(1, 3, high=4), 0)],
    "take": [(f(4, 3), i(2, 2, high=12))],
    **_unary("index.Tensor _unsafe_index.Tensor", [(f(4, 3), [i(2, high=4)]), (f(4, 3), [None, i(2, 2, high=3)]), (f(4, 3), [t(-1, 0, dtype=torch.int64)]),
        (f(4, 3, 2), [i(5, high=4), i(5, high=3)]), (f(4, 3, 2), [None, i(5, high=3), i(5, high=2)]), (f(4, 3, 2), [i(5, high=4), None, i(5, high=2)]),
        (f(4, 3, 2), [None, i(2, 1, high=3), i(3, high=2)])]),
    **_unary("index_put _unsafe_index_put", [(f(4, 3), [t(0, 2, dtype=torch.int64)], f(2, 3)), (f(4, 3), [i(5, high=4)], f(5, 3), True), (f(4, 3), [None, t(0, -1, dtype=torch.int64)], f(4, 2)),
        (f(4, 3, 2), [t(0, 1, dtype=torch.int64), t(2, 1, dtype=torch.int64)], f(2, 2)), (f(4, 3), [b(4, 3)], t(7.0).reshape([])), (f(4, 3), [b(4)], t(7.0).reshape([]))]),
    "scatter.src": [(f(4, 3), 1, t([0, 2], [1, 0], dtype=torch.int64), f(2, 2))], "scatter.value": [(f(4, 3), 0, t([0, 2, 3], dtype=torch.int64), 5.0)],
    "scatter_add": [(f(4, 3), 0, i(2, 3, high=4), f(2, 3))], "scatter.reduce": [(f(4, 3), 0, t([0, 2, 3], dtype=torch.int64), f(1, 3), {"reduce": "multiply"})],
    "scatter.value_reduce": [(f(4, 3), 0, t([0, 2, 3], dtype=torch.int64), 2.0, {"reduce": "add"})],
    "scatter_reduce.two": [(f(4, 3), 0, i(2, 3, high=4), f(2, 3), r) for r in ("sum", "prod", "amax", "amin")],
    "index_add": [(f(4, 3), 0, t(1, 1, dtype=torch.int64), f(2, 3)), (f(4, 3), 1, t(0, dtype=torch.int64), f(4, 1), {"alpha": 2})],
    "index_copy": [(f(4, 3), 0, t(3, 1, dtype=torch.int64), f(2, 3))],
    "index_fill.int_Scalar": [(f(4, 3), 1, t(0, 2, dtype=torch.int64), 9.0)], "index_fill.int_Tensor": [(f(4, 3), 0, t(1, dtype=torch.int64), t(9.0).reshape([]))],
    "masked_fill.Scalar": [(f(2, 3), b(3), -1e9), (i(2, 3), b(2, 3), 7)], "masked_fill.Tensor": [(f(2, 3), b(2, 3), t(4.0).reshape([]))],
    "bucketize.Tensor": [(f(5), t(-1.0, 0.0, 1.0)), (t(0.0, 1.0), t(0.0, 1.0), {"right": True})],
}

_M, _V = f(3, 4), f(4)
MATMUL = {
    "linear": [(f(2, 4), f(3, 4), f(3)), (f(2, 5, 4), f(3, 4), f(3)), (f(2, 5, 4), f(3, 4)), (f(4), f(3, 4), f(3))],
    "matmul": [(_M, f(4, 5)), (f(2, 3, 4), f(4, 5)), (_V, f(4)), (_M, _V), (f(2, 2, 3, 4), f(2, 2, 4, 3))], "linalg_matmul": [(_M, f(4, 2))], "inner": [(_V, f(4))],
    "mm": [(_M, f(4, 5))], "bmm": [(f(2, 3, 4), f(2, 4, 5))], "mv": [(_M, _V)], "dot": [(_V, f(4))],
    "addmm": [(f(5), _M, f(4, 5)), (f(3, 5), _M, f(4, 5), {"beta": 0.5, "alpha": 2})], "addmv": [(f(3), _M, _V), (f(3), _M, _V, {"beta": 0, "alpha": 2})],
    "baddbmm": [(f(2, 3, 5), f(2, 3, 4), f(2, 4, 5), {"beta": 0.5, "alpha": 2})], "addbmm": [(f(3, 5), f(2, 3, 4), f(2, 4, 5))],
    "outer": [(f(3), f(4))], "ger": [(f(3), f(4))], "tensordot": [(f(2, 3, 4), f(4, 3, 5), [1, 2], [1, 0])],
    "einsum": [("bij,bjk->bik", [f(2, 3, 4), f(2, 4, 5)]), ("bhqd,bhkd->bhqk", [f(2, 2, 3, 4), f(2, 2, 5, 4)]), ("bhqk,bkhd->bqhd", [f(2, 2, 3, 5), f(2, 5, 2, 4)]),
               ("i,j->ij", [f(3), f(4)]), ("ij,ij", [f(3, 4), f(3, 4)]), ("ij->j", [f(3, 4)]), ("ij,jk,kl->il", [f(2, 3), f(3, 4), f(4, 2)]), ("abc,cd", [f(2, 3, 4), f(4, 5)]),
               ("ncij,nkij->nck", [f(2, 3, 4, 4), f(2, 5, 4, 4)])],
    "bilinear": [(f(2, 3), f(2, 4), f(5, 3, 4), f(5))],
    "cosine_similarity": [(f(3, 4), f(3, 4)), (f(3, 4), f(3, 4), 0)], "pairwise_distance": [(f(3, 4), f(3, 4))], "cdist": [(f(3, 4), f(5, 4)), (f(2, 3, 4), f(2, 5, 4), 1.0)],
}

_IMAGE = f(2, 4, 6, 6)
NORMS = {
    "batch_norm": [(_IMAGE, f(4), f(4), f(4), f(4, low=0.5, high=2), training, 0.1, 1e-5, False) for training in (True, False)] +
                  [(f(5, 4), None, None, f(4), f(4, low=0.5, high=2), False, 0.1, 1e-5, False), (f(5, 4), None, None, None, None, True, 0.1, 1e-5, False)],
    "instance_norm": [(_IMAGE, f(4), f(4), None, None, True, 0.1, 1e-5, False), (_IMAGE, None, None, None, None, True, 0.1, 1e-5, False)],
    "layer_norm": [(f(2, 3, 4), [4], f(4), f(4)), (f(2, 3, 4), [3, 4]), (f(2, 4), [4], f(4), None, 1e-3)],
    "rms_norm": [(f(2, 4), [4], f(4)), (f(2, 4), [4], None, 1e-3)], "group_norm": [(_IMAGE, 2, f(4), f(4)), (_IMAGE, 4), (f(2, 4, 3), 1, f(4), f(4), 1e-3)],
    "native_layer_norm": [(f(2, 3), [3], f(3), f(3), 1e-5)], "native_group_norm": [(_IMAGE, f(4), f(4), 2, 4, 36, 2, 1e-5)],
    "_native_batch_norm_legit_no_training": [(_IMAGE, f(4), f(4), f(4), f(4, low=0.5, high=2), 0.1, 1e-5)],
}

IMAGES = {
    "conv1d": [(f(2, 4, 8), f(6, 4, 3), f(6), [2], [1]), (f(4, 8), f(6, 4, 3))], "conv2d": [(_IMAGE, f(6, 2, 3, 3), f(6), [1, 2], [1, 0], [1, 1], 2), (_IMAGE, f(4, 4, 3, 3), None, [1, 1], [2, 2], [2, 2])],
    "conv3d": [(f(1, 2, 4, 4, 4), f(3, 2, 2, 2, 2), f(3))], "conv1d.padding": [(f(2, 4, 8), f(6, 4, 4), f(6), [1], "same")],
    "conv2d.padding": [(_IMAGE, f(6, 4, 3, 3), f(6), [1, 1], "same"), (_IMAGE, f(6, 4, 3, 3), None, [1, 1], "valid")], "conv3d.padding": [(f(1, 2, 4, 4, 4), f(3, 2, 3, 3, 3), None, [1, 1, 1], "same")],
    "conv_transpose1d": [(f(2, 4, 5), f(4, 3, 3), f(3), [2], [1], [1])], "conv_transpose2d.input": [(_IMAGE, f(4, 3, 2, 2), f(3), [2, 2]), (_IMAGE, f(4, 2, 3, 3), f(4), [2, 2], [1, 1], [1, 1], 2)],
    "conv_transpose3d.input": [(f(1, 2, 3, 3, 3), f(2, 3, 2, 2, 2), None, [2, 2, 2])],
    "convolution": [(_IMAGE, f(6, 4, 3, 3), f(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1), (_IMAGE, f(4, 3, 2, 2), f(3), [2, 2], [0, 0], [1, 1], True, [0, 0], 1)],
    "pad": [(_IMAGE, [1, 2, 0, 1]), (_IMAGE, [1, 1], "constant", 2.0), (_IMAGE, [1, 2, 0, 1], "reflect"), (_IMAGE, [1, 2, 0, 1], "replicate"), (_IMAGE, [1, 2, 0, 1], "circular"), (_IMAGE, [-1, 2])],
    "constant_pad_nd": [(_IMAGE, [1, 2, -1, 1], 3.0), (f(3), [0, 0])], "reflection_pad1d": [(f(2, 3, 5), [1, 2])], "reflection_pad2d": [(_IMAGE, [1, 2, 2, 1])], "reflection_pad3d": [(f(1, 2, 3, 3, 3), [1, 1, 1, 1, 1, 1])],
    "replication_pad1d": [(f(2, 3, 5), [1, 2])], "replication_pad2d": [(_IMAGE, [1, 2, 2, 1])], "replication_pad3d": [(f(1, 2, 3, 3, 3), [1, 1, 1, 1, 1, 1])],
    "im2col": [(_IMAGE, [3, 2], [1, 1], [1, 0], [2, 1])], "col2im": [(f(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])],
    "max_pool1d": [(f(2, 3, 8), [2]), (f(2, 3, 8), [3], [2], [1])], "max_pool2d": [(_IMAGE, [2, 2]), (_IMAGE, [3, 3], [2, 2], [1, 1], [1, 1], True), (_IMAGE, [2, 2], [1, 1], [0, 0], [2, 2]), (f(4, 6, 6), [2, 2])],
    "max_pool3d": [(f(1, 2, 4, 4, 4), [2, 2, 2])], "max_pool1d_with_indices": [(f(2, 3, 8), [2])], "max_pool2d_with_indices": [(_IMAGE, [2, 2]), (_IMAGE, [3, 3], [2, 2], [1, 1])], "max_pool3d_with_indices": [(f(1, 2, 4, 4, 4), [2, 2, 2])],
    "avg_pool1d": [(f(2, 3, 8), [3], [2], [1])], "avg_pool2d": [(_IMAGE, [2, 2]), (_IMAGE, [3, 3], [2, 2], [1, 1], False, False), (_IMAGE, [3, 3], [2, 2], [1, 1]), (_IMAGE, [2, 2], [], [0, 0], False, True, 3)],
    "avg_pool3d": [(f(1, 2, 4, 4, 4), [2, 2, 2])],
    "adaptive_avg_pool1d": [(f(2, 3, 8), [4]), (f(2, 3, 8), [3])], "adaptive_avg_pool2d": [(_IMAGE, [1, 1]), (_IMAGE, [3, 2]), (_IMAGE, [4, 5]), (_IMAGE, [6, 6])], "adaptive_avg_pool3d": [(f(1, 2, 4, 4, 4), [1, 1, 1]), (f(1, 2, 4, 4, 4), [2, 3, 4])],
    "_adaptive_avg_pool2d": [(_IMAGE, [2, 2])], "_adaptive_avg_pool3d": [(f(1, 2, 4, 4, 4), [2, 2, 2])],
    "adaptive_max_pool1d": [(f(2, 3, 8), [3])], "adaptive_max_pool2d": [(_IMAGE, [4, 5]), (_IMAGE, [1, 1])], "adaptive_max_pool3d": [(f(1, 2, 4, 4, 4), [2, 2, 2])],
    "upsample_nearest1d.vec": [(f(1, 2, 4), [7], None)], "upsample_nearest2d.vec": [(_IMAGE, None, [2.0, 2.0]), (_IMAGE, [9, 4], None), (_IMAGE, None, [1.5, 1.7])], "upsample_nearest3d.vec": [(f(1, 2, 3, 3, 3), None, [2.0, 2.0, 2.0])],
    "_upsample_nearest_exact1d.vec": [(f(1, 2, 4), [7], None)], "_upsample_nearest_exact2d.vec": [(_IMAGE, [9, 4], None)], "_upsample_nearest_exact3d.vec": [(f(1, 2, 3, 3, 3), [5, 4, 6], None)],
    "upsample_linear1d.vec": [(f(1, 2, 4), [7], False, None)], "upsample_bilinear2d.vec": [(_IMAGE, [9, 4], False, None), (_IMAGE, [9, 4], True, None), (_IMAGE, None, False, [2.0, 1.5])],
    "upsample_trilinear3d.vec": [(f(1, 2, 3, 3, 3), [5, 4, 6], False, None)], "upsample_bicubic2d.vec": [(_IMAGE, [9, 4], False, None), (_IMAGE, [9, 4], True, None)],
    "_upsample_bilinear2d_aa.vec": [(_IMAGE, [4, 3], False, None)], "_upsample_bicubic2d_aa.vec": [(_IMAGE, [4, 3], False, None)],
    "upsample_nearest2d": [(_IMAGE, [9, 4])], "upsample_bilinear2d": [(_IMAGE, [9, 4], False), (_IMAGE, [12, 12], True)],
    "grid_sampler": [(_IMAGE, f(2, 3, 3, 2, low=-1.2, high=1.2), m, p, a) for m in (0, 1) for p in (0, 1) for a in (False, True)], "grid_sampler_2d": [(_IMAGE, f(2, 3, 3, 2, low=-1.2, high=1.2), 0, 2, False)],
    "grid_sampler_3d": [(f(1, 2, 3, 3, 3), f(1, 2, 2, 2, 3, low=-1, high=1), 0, 0, False)], "affine_grid_generator": [(f(2, 2, 3), [2, 1, 3, 4], False), (f(2, 2, 3), [2, 1, 3, 4], True)],
}

_LOGITS, _CLASSES = f(6, 5), t(0, 4, 2, 1, 3, 2, dtype=torch.int64)
_SIGNS = t(1.0, -1.0, 1.0, -1.0)
LOSSES = {
    "cross_entropy_loss": [(_LOGITS, _CLASSES), (_LOGITS, _CLASSES, f(5, low=0.5, high=2)), (_LOGITS, _CLASSES, None, 0), (_LOGITS, _CLASSES, None, 2), (_LOGITS, _CLASSES, None, 1, 2),
        *[(_LOGITS, _CLASSES, w, r, 2, 0.1) for w in (None, f(5, low=0.5, high=2)) for r in (0, 1, 2)], (f(2, 5, 3), i(2, 3)), (f(2, 5, 3), i(2, 3), None, 1, -100, 0.2), (f(5), t(3, dtype=torch.int64).reshape([])), (f(5), t(3, dtype=torch.int64).reshape([]), None, 1, -100, 0.1),
        *[(_LOGITS, f(6, 5).softmax(1), None, r, -100, s) for r in (0, 1, 2) for s in (0.0, 0.1)], (f(2, 5, 3), f(2, 5, 3).softmax(1), f(5, low=0.5, high=2))],
    **_unary("nll_loss nll_loss_nd", [(_LOGITS.log_softmax(1), _CLASSES), (_LOGITS.log_softmax(1), _CLASSES, f(5, low=0.5, high=2), 1, 2), (_LOGITS.log_softmax(1), _CLASSES, None, 0)]),
    "nll_loss2d": [(f(2, 5, 3, 3).log_softmax(1), i(2, 3, 3))], "nll_loss_forward": [(_LOGITS.log_softmax(1), _CLASSES, None, 1, -100)], "nll_loss2d_forward": [(f(2, 5, 3, 3).log_softmax(1), i(2, 3, 3), None, 1, -100)],
    "binary_cross_entropy_with_logits": [(f(6), f(6, low=0, high=1)), (t(-200.0, 200.0), t(1.0, 0.0)), (f(4, 3), f(4, 3, low=0, high=1), f(3), f(3, low=1, high=2), 2), (f(6), f(6, low=0, high=1), None, None, 0)],
    "binary_cross_entropy": [(f(6, low=0.05, high=0.95), f(6, low=0, high=1)), (t(0.0, 1.0), t(1.0, 1.0)), (f(4, low=0.1, high=0.9), f(4, low=0, high=1), f(4), 0)],
    **_unary("mse_loss l1_loss", [(f(4, 3), f(4, 3)), (f(4), f(4), 0), (f(4), f(4), 2)]),
    "smooth_l1_loss": [(f(6), f(6)), (f(6), f(6), 0, 0.3), (f(6), f(6), 2, 0.0)], "huber_loss": [(f(6), f(6)), (f(6), f(6), 0, 0.3)],
    "kl_div": [(f(4, 3).log_softmax(1), f(4, 3).softmax(1), 1), (f(4, 3), f(4, 3), 2, {"log_target": True}), (f(3), t(0.0, 0.5, 0.5), 0)],
    "poisson_nll_loss": [(f(4), f(4, low=0, high=4), True, False, 1e-8, 1), (f(4, low=0.1, high=3), f(4, low=0, high=4), False, True, 1e-8, 0)],
    "margin_ranking_loss": [(f(4), f(4), _SIGNS), (f(4), f(4), _SIGNS, 0.5, 0)], "hinge_embedding_loss": [(f(4), _SIGNS), (f(4), _SIGNS, 0.5, 2)],
    "soft_margin_loss": [(f(4), _SIGNS)], "cosine_embedding_loss": [(f(4, 3), f(4, 3), _SIGNS), (f(4, 3), f(4, 3), _SIGNS, 0.2, 0)],
    "triplet_margin_loss": [(f(4, 3), f(4, 3), f(4, 3)), (f(4, 3), f(4, 3), f(4, 3), 0.5, 2.0, 1e-6, True, 0)],
    "multi_margin_loss": [(_LOGITS, _CLASSES), (_LOGITS, _CLASSES, 2, 0.5, f(5, low=0.5, high=2), 0)],
}

_Q, _K, _VALUE = f(2, 4, 3, 8), f(2, 4, 5, 8), f(2, 4, 5, 8)


def _recurrent(gates, layers=1, directions=1, size=3, hidden=4, biases=True):
    weights = []
    for layer in range(layers):
        width = size if layer == 0 else hidden * directions
        for _ in range(directions):
            weights += [f(gates * hidden, width), f(gates * hidden, hidden)] + ([f(gates * hidden), f(gates * hidden)] if biases else [])
    return [w * 0.5 for w in weights]


LAYERS = {
    "scaled_dot_product_attention": [(_Q, _K, _VALUE), (_Q, _K, _VALUE, None, 0.0, True), (_Q, _K, _VALUE, f(3, 5)), (_Q, _K, _VALUE, torch.ones(3, 5).tril(1).bool()), (_Q, _K, _VALUE, None, 0.0, False, {"scale": 0.3}),
        (_Q, f(2, 2, 5, 8), f(2, 2, 5, 8), None, 0.0, False, {"enable_gqa": True}), (f(2, 3, 8), f(2, 5, 8), f(2, 5, 8)), (f(3, 8), f(5, 8), f(5, 8)), (_Q, _K, _VALUE, f(2, 1, 3, 5)), (f(2, 2, 2, 3, 8), f(2, 2, 2, 5, 8), f(2, 2, 2, 5, 8))],
    "lstm.input": [(f(5, 2, 3), [f(1, 2, 4), f(1, 2, 4)], _recurrent(4), True, 1, 0.0, False, False, False), (f(2, 5, 3), [f(4, 2, 4), f(4, 2, 4)], _recurrent(4, 2, 2), True, 2, 0.0, False, True, True), (f(5, 2, 3), [f(1, 2, 4), f(1, 2, 4)], _recurrent(4, biases=False), False, 1, 0.0, False, False, False)],
    "gru.input": [(f(5, 2, 3), f(1, 2, 4), _recurrent(3), True, 1, 0.0, False, False, False), (f(2, 5, 3), f(4, 2, 4), _recurrent(3, 2, 2), True, 2, 0.0, False, True, True)],
    "rnn_tanh.input": [(f(5, 2, 3), f(1, 2, 4), _recurrent(1), True, 1, 0.0, False, False, False)], "rnn_relu.input": [(f(5, 2, 3), f(2, 2, 4), _recurrent(1, 2), True, 2, 0.0, False, False, False)],
    "lstm_cell": [(f(2, 3), [f(2, 4), f(2, 4)], *_recurrent(4))], "gru_cell": [(f(2, 3), f(2, 4), *_recurrent(3))], "rnn_tanh_cell": [(f(2, 3), f(2, 4), *_recurrent(1))], "rnn_relu_cell": [(f(2, 3), f(2, 4), *_recurrent(1))],
    "dropout": [(f(3), 0.5, False)], "native_dropout": [(f(3), 0.5, False)], "feature_dropout": [(_IMAGE, 0.5, False)], "alpha_dropout": [(f(3), 0.5, False)], "feature_alpha_dropout": [(_IMAGE, 0.5, False)],
}

CREATION = {
    "zeros": [([2, 3],), ([2], {"dtype": torch.int64})], "ones": [([2, 3],)], "full": [([2], 2.5), ([2], 3), ([2], True)], "scalar_tensor": [(2.5,)],
    "zeros_like": [(f(2),)], "ones_like": [(i(2),), (f(2), {"dtype": torch.bool})], "full_like": [(f(2), 3)], "new_zeros": [(f(2), [3])], "new_ones": [(f(2), [3])], "new_full": [(i(2), [3], 7)],
    "arange": [(5,), (2.5,), (3, {"dtype": torch.float32})], "arange.start": [(1, 4)], "arange.start_step": [(1, 8, 3), (0.0, 1.0, 0.3), (5, 0, -2)],
    "linspace": [(0.0, 1.0, 5)], "eye": [(3,)], "eye.m": [(2, 3)], "tril_indices": [(3, 3)], "triu_indices": [(3, 3, 1)],
}

CASES = {**ELEMENTWISE, **ACTIVATIONS, **SHAPES, **REDUCTIONS, **INDEXING, **MATMUL, **NORMS, **IMAGES, **LOSSES, **LAYERS, **CREATION}

# Operators whose values are random or not defined, tested by what they promise instead.
RANDOM = {"rand": ([1000],), "randn": ([1000],), "rand_like": (torch.zeros(1000),), "randn_like": (torch.zeros(1000),), "normal_functional": (torch.zeros(1000), 2.0, 0.5),
          "uniform": (torch.zeros(1000), 1.0, 3.0), "bernoulli": (torch.full((1000,), 0.3),), "bernoulli.p": (torch.zeros(1000), 0.3),
          "empty.memory_format": ([3],), "empty_like": (torch.zeros(3),), "new_empty": (torch.zeros(3), [2])}
# Refused in every form, by name.
REFUSED = {"_native_batch_norm_legit_functional", "_native_batch_norm_legit", "native_batch_norm"}
