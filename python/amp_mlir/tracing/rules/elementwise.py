"""Arithmetic, comparisons and functions of one element."""

import math

from ..emit import Tensor, dtype_name, result_type
from ..errors import Refusal
from ..registry import CUDA, composite, rule


# Arithmetic ---------------------------------------------------------------------------------------

@rule("add.Tensor", "add.Scalar")
def add(e, x, y, alpha):
    return _sum(e, "Add", x, y, alpha)


@rule("sub.Tensor", "sub.Scalar", "subtract.Tensor")
def sub(e, x, y, alpha):
    return _sum(e, "Sub", x, y, alpha)


@rule("rsub.Tensor", "rsub.Scalar")
def rsub(e, x, y, alpha):
    x, y = e.promote(x, y)
    return y - (x if alpha == 1 else x * alpha)


def _sum(e, kind, x, y, alpha):
    x, y = e.promote(x, y)
    if x.dtype == "i1":
        if kind == "Sub":
            raise Refusal("subtraction of truth values is not defined")
        return e.op("Or", x, y)
    return e.op(kind, x, y if alpha == 1 else y * alpha)


@rule("mul.Tensor", "mul.Scalar", "multiply.Tensor")
def mul(e, x, y):
    x, y = e.promote(x, y)
    return e.op("And" if x.dtype == "i1" else "Mul", x, y)


@rule("div.Tensor", "div.Scalar", "divide.Tensor", "true_divide.Tensor")
def div(e, x, y):
    x, y = e.promote(x, y)
    return e.as_float(x) / e.as_float(y)


@rule("div.Tensor_mode", "div.Scalar_mode")
def div_mode(e, x, y, mode):
    if mode is None:
        return div(e, x, y)
    return _floor_divide(e, x, y) if mode == "floor" else _truncated(e, x, y)


@rule("floor_divide", "floor_divide.Scalar")
def floor_divide(e, x, y):
    return _floor_divide(e, x, y)


def _floor_divide(e, x, y):
    x, y = e.promote(x, y)
    if x.is_float:
        # As Python does: what is left over is taken off first, so that the quotient is that of whole numbers.
        return e.op("Round", (x - _modulo(e, x, y)) / y)
    return (x - _modulo(e, x, y)) / y


def _truncated(e, x, y):
    x, y = e.promote(x, y)
    quotient = x / y
    return trunc(e, quotient) if x.is_float else quotient


def _modulo(e, x, y):
    """The remainder with the divisor's sign."""
    if not x.is_float:
        return e.op("Mod", x, y)
    rest = e.op("Mod", x, y, fmod=1)
    zero = e.number(0, x.dtype)
    wrong = e.op("And", e.op("Not", e.op("Equal", rest, zero)), e.op("Xor", rest < zero, y < zero))
    return e.where(wrong, rest + y, rest)


@rule("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(e, x, y):
    return _modulo(e, *e.promote(x, y))


@rule("fmod.Tensor", "fmod.Scalar")
def fmod(e, x, y):
    return e.op("Mod", *e.promote(x, y), fmod=1)


@rule("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(e, x, y):
    return e.op("Pow", *e.promote(x, y))


@rule("square")
def square(e, x):
    return power(e, x, 2)


@rule("addcmul")
def addcmul(e, x, a, b, value):
    x, a, b = e.promote(x, a, b)
    return x + (a * b if value == 1 else a * b * value)


@rule("addcdiv")
def addcdiv(e, x, a, b, value):
    x, a, b = e.promote(x, a, b)
    return x + (a / b if value == 1 else a / b * value)


@composite("lerp.Scalar", "lerp.Tensor")
def lerp(e, start, end, weight):
    return start + (end - start) * weight


@rule("maximum", "max.other")
def maximum(e, x, y):
    return e.op("Max", *e.promote(x, y))


@rule("minimum", "min.other")
def minimum(e, x, y):
    return e.op("Min", *e.promote(x, y))


@rule("fmax")
def fmax(e, x, y):
    x, y = e.promote(x, y)
    return e.where(e.op("IsNaN", x), y, e.where(e.op("IsNaN", y), x, e.op("Max", x, y)))


@rule("fmin")
def fmin(e, x, y):
    x, y = e.promote(x, y)
    return e.where(e.op("IsNaN", x), y, e.where(e.op("IsNaN", y), x, e.op("Min", x, y)))


# Bounds -------------------------------------------------------------------------------------------

@rule("clamp", "clip")
def clamp(e, x, low, high):
    dtype = result_type(*[v for v in (x, low, high) if v is not None])
    x = e.cast(x, dtype)
    return e.op("Clip", x, None if low is None else e.like(low, dtype), None if high is None else e.like(high, dtype))


@rule("clamp_min", "clamp_min.Tensor")
def clamp_min(e, x, low):
    return _bounded(e, x, low, None) if isinstance(low, Tensor) else clamp(e, x, low, None)


@rule("clamp_max", "clamp_max.Tensor")
def clamp_max(e, x, high):
    return _bounded(e, x, None, high) if isinstance(high, Tensor) else clamp(e, x, None, high)


@rule("clamp.Tensor", "clip.Tensor")
def clamp_tensor(e, x, low, high):
    return _bounded(e, x, low, high)


def _bounded(e, x, low, high):
    """Selects, so that the gradient of an element goes to what it is; the upper bound wins."""
    dtype = result_type(*[v for v in (x, low, high) if v is not None])
    x = e.cast(x, dtype)
    if low is not None:
        low = e.like(low, dtype)
        x = e.where(x < low, low, x)
    if high is not None:
        high = e.like(high, dtype)
        x = e.where(x > high, high, x)
    return x


# Comparisons and truth values ---------------------------------------------------------------------

def _comparison(kind, negated=False):
    def compare(e, x, y):
        result = e.op(kind, *e.promote(x, y))
        return e.op("Not", result) if negated else result
    return compare


for _name, _kind, _negated in (("eq", "Equal", False), ("ne", "Equal", True), ("lt", "Less", False), ("le", "LessOrEqual", False),
                               ("gt", "Greater", False), ("ge", "GreaterOrEqual", False)):
    rule(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_kind, _negated))


def _truth(e, x):
    return x if x.dtype == "i1" else e.cast(x, "i1")


@rule("logical_not")
def logical_not(e, x):
    return e.op("Not", _truth(e, x))


@rule("logical_and")
def logical_and(e, x, y):
    return e.op("And", _truth(e, x), _truth(e, y))


@rule("logical_or")
def logical_or(e, x, y):
    return e.op("Or", _truth(e, x), _truth(e, y))


@rule("logical_xor")
def logical_xor(e, x, y):
    return e.op("Xor", _truth(e, x), _truth(e, y))


def _bitwise(kind):
    def combine(e, x, y):
        x, y = e.promote(x, y)
        return e.op(kind if x.dtype == "i1" else f"Bitwise{kind}", x, y)
    return combine


rule("bitwise_and.Tensor", "bitwise_and.Scalar", "__and__.Tensor", "__and__.Scalar")(_bitwise("And"))
rule("bitwise_or.Tensor", "bitwise_or.Scalar", "__or__.Tensor", "__or__.Scalar")(_bitwise("Or"))
rule("bitwise_xor.Tensor", "bitwise_xor.Scalar", "__xor__.Tensor", "__xor__.Scalar")(_bitwise("Xor"))


@rule("bitwise_not")
def bitwise_not(e, x):
    return e.op("Not" if x.dtype == "i1" else "BitwiseNot", x)


@rule("isnan")
def isnan(e, x):
    return e.op("IsNaN", x) if x.is_float else e.op("Xor", e.cast(x, "i1"), e.cast(x, "i1"))


@rule("isinf")
def isinf(e, x):
    return e.op("IsInf", x) if x.is_float else e.op("Xor", e.cast(x, "i1"), e.cast(x, "i1"))


@rule("isfinite")
def isfinite(e, x):
    return e.op("Not", e.op("Or", isnan(e, x), isinf(e, x)))


@rule("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(e, condition, x, y):
    dtype = result_type(x, y)
    return e.where(_truth(e, condition), e.like(x, dtype), e.like(y, dtype))


# Functions of one element -------------------------------------------------------------------------

def _real(kind):
    return lambda e, x: e.op(kind, e.as_float(x))


for _name, _kind in (("exp", "Exp"), ("log", "Log"), ("sqrt", "Sqrt"), ("reciprocal", "Reciprocal"), ("sin", "Sin"), ("cos", "Cos"),
                     ("tan", "Tan"), ("asin", "Asin"), ("acos", "Acos"), ("atan", "Atan"), ("sinh", "Sinh"), ("cosh", "Cosh"),
                     ("tanh", "Tanh"), ("asinh", "Asinh"), ("acosh", "Acosh"), ("atanh", "Atanh"), ("erf", "Erf"), ("sigmoid", "Sigmoid")):
    rule(_name)(_real(_kind))
for _name, _kind in (("arcsin", "Asin"), ("arccos", "Acos"), ("arctan", "Atan"), ("special_expit", "Sigmoid"), ("special_erf", "Erf")):
    rule(_name)(_real(_kind))


@rule("neg", "negative")
def neg(e, x):
    return -x


@rule("positive")
def positive(e, x):
    return x


@rule("abs", "absolute")
def absolute(e, x):
    return e.op("Abs", x)


@rule("sign", "sgn")
def sign(e, x):
    if not x.is_float:
        return x if x.dtype == "i1" else e.op("Sign", x)
    # NaN has none.
    return e.where(e.op("IsNaN", x), e.number(0, x.dtype), e.op("Sign", x))


@rule("floor")
def floor(e, x):
    return e.op("Floor", x) if x.is_float else x


@rule("ceil")
def ceil(e, x):
    return e.op("Ceil", x) if x.is_float else x


@rule("round")
def round_(e, x):
    return e.op("Round", x) if x.is_float else x


@rule("trunc", "fix")
def trunc(e, x):
    if not x.is_float:
        return x
    return e.where(x < e.number(0, x.dtype), e.op("Ceil", x), e.op("Floor", x))


@rule("frac")
def frac(e, x):
    return x - trunc(e, x)


@rule("rsqrt")
def rsqrt(e, x):
    return e.op("Reciprocal", e.op("Sqrt", e.as_float(x)))


@rule("exp2", "special_exp2")
def exp2(e, x):
    return e.op("Pow", e.number(2, e.as_float(x).dtype), e.as_float(x))


@composite("log2", wide=(CUDA,))
def log2(e, x):
    return e.op("Log", e.as_float(x)) * (1 / math.log(2))


@composite("log10", wide=(CUDA,))
def log10(e, x):
    return e.op("Log", e.as_float(x)) * (1 / math.log(10))


@composite("log1p", "special_log1p", wide=(CUDA,))
def log1p(e, x):
    x = e.as_float(x)
    # log(1 + x) = 2 atanh(x / (2 + x)) keeps the digits of a small x.
    small = e.op("Abs", x) < 0.5
    near = e.where(small, x, e.number(0, x.dtype))
    return e.where(small, e.op("Atanh", near / (near + 2)) * 2, e.op("Log", x + 1))


@composite("expm1", "special_expm1", wide=(CUDA,))
def expm1(e, x):
    x = e.as_float(x)
    # exp(x) - 1 = 2 t / (1 - t) with t = tanh(x / 2) keeps the digits of a small x.
    small = e.op("Abs", x) < 1
    tanh = e.op("Tanh", e.where(small, x, e.number(0, x.dtype)) * 0.5)
    return e.where(small, tanh * 2 / (1 - tanh), e.op("Exp", x) - 1)


@composite("erfc", "special_erfc")
def erfc(e, x):
    return 1 - e.op("Erf", e.as_float(x))


@composite("logit", "special_logit")
def logit(e, x, eps):
    x = e.as_float(x)
    if eps is not None:
        x = clamp(e, x, eps, 1 - eps)
    return e.op("Log", x / (1 - x))


@composite("sinc", "special_sinc")
def sinc(e, x):
    x = e.as_float(x) * math.pi
    zero = e.op("Equal", x, e.number(0, x.dtype))
    safe = e.where(zero, e.number(1, x.dtype), x)
    return e.where(zero, e.number(1, x.dtype), e.op("Sin", safe) / safe)


@composite("atan2", wide=())
def atan2(e, y, x):
    """atan(y / x), turned by pi where x < 0; beyond the diagonals sign(y) pi / 2 - atan(x / y)."""
    y, x = e.promote(e.as_float(y), e.as_float(x))
    zero, one = e.number(0, x.dtype), e.number(1, x.dtype)
    steep = e.op("Abs", y) > e.op("Abs", x)
    flat_angle = e.op("Atan", y / e.where(e.op("Or", steep, e.op("Equal", x, zero)), one, x))
    turn = e.where(y < 0, e.number(-math.pi, x.dtype), e.number(math.pi, x.dtype))
    flat_angle = e.where(x < 0, flat_angle + turn, flat_angle)
    steep_angle = e.op("Sign", y) * (math.pi / 2) - e.op("Atan", x / e.where(steep, y, one))
    return e.where(steep, steep_angle, flat_angle)


@composite("xlogy.Tensor", "special_xlogy")
def xlogy(e, x, y):
    x, y = e.promote(e.as_float(x), e.as_float(y))
    zero = e.op("Equal", x, e.number(0, x.dtype))
    return e.where(zero, e.number(0, x.dtype), x * e.op("Log", e.where(zero, e.number(1, y.dtype), y)))


@composite("nan_to_num")
def nan_to_num(e, x, nan, positive, negative):
    if not x.is_float:
        return x
    largest = {"f64": 1.7976931348623157e308}.get(x.dtype, 3.4028234663852886e38)
    x = e.where(e.op("IsNaN", x), e.number(nan or 0.0, x.dtype), x)
    high = e.op("IsInf", x, detect_negative=0)
    x = e.where(high, e.number(largest if positive is None else positive, x.dtype), x)
    return e.where(e.op("IsInf", x, detect_positive=0), e.number(-largest if negative is None else negative, x.dtype), x)


@rule("hypot")
def hypot(e, x, y):
    x, y = e.promote(x, y)
    return e.op("Sqrt", x * x + y * y)


# Types --------------------------------------------------------------------------------------------

def _to(e, x, dtype):
    return x if dtype is None else e.cast(x, dtype_name(dtype))


@rule("to.dtype", "to.dtype_layout", "_to_copy")
def to_dtype(e, x, dtype):
    """A cast to the type a tensor seems to have is one all the same where autocast may have given it another."""
    result = _to(e, x, dtype)
    return e.widen(x) if result is x and dtype is not None and x.dtype == "f32" and e.policy else result


@rule("to.device")
def to_device(e, x, dtype):
    return to_dtype(e, x, dtype)


@rule("to.other")
def to_other(e, x, other):
    return e.cast_like(x, other)


@rule("type_as")
def type_as(e, x, other):
    return e.cast_like(x, other)


