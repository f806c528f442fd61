"""The CPU code generator against numpy and the onnx reference: every primitive, odd sizes, special values, fusion.

All models of a test are one library, so that a test costs one compilation. Expected values come from the onnx reference
evaluator, whose half arithmetic is that of ml_dtypes and numpy: compute in float32, round once per operator.
"""
import itertools
import zlib

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import cpu_code

pytestmark = pytest.mark.skipif(not cpu_code.program().is_file(), reason="amp-compile-models is not built")

F16, BF16, F32, F64 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32), np.dtype(np.float64)
I32, I64, U8, BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.bool_)
FLOATS = [F32, F16, BF16, F64]
#: Around the 16 lanes, four vectors of them, and a piece of work.
SIZES = [1, 3, 15, 16, 17, 63, 65, 130]


def rng_of(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def special(dtype):
    """NaN, infinities, zeros, subnormals, ties: what a float type has that plain numbers do not."""
    info = ml_dtypes.finfo(dtype)
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, least, -least, tiny, tiny / 2, float(info.max), -float(info.max),
                     1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 65504, 65519, 65520, 1e-8, 3e-41], np.float64).astype(dtype)


def draw(rng, dtype, shape, low=-4.0, high=4.0, specials=False):
    dtype = np.dtype(dtype)
    if dtype == BOOL:
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(max(low, 0) if dtype.kind == "u" else int(low) - 5, int(high) + 6, shape).astype(dtype)
    values = rng.uniform(low, high, shape).astype(dtype)
    if specials and values.size:
        flat = values.reshape(-1)
        places = rng.random(flat.size) < 0.4
        flat[places] = rng.choice(special(dtype), places.sum())
    return values


def make_model(nodes, inputs, outputs, constants=None):
    """`inputs`: arrays by name; `outputs`: (name, dtype) pairs or names of float32 values."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, onnx_type(v.dtype), v.shape) for n, v in inputs.items()],
        [helper.make_tensor_value_info(n, t, None) for n, t in outputs],
        [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


class Cases:
    """Models with their feeds and what is expected of them."""

    def __init__(self):
        self.models, self.feeds, self.expected, self.checks = {}, {}, {}, {}

    def add(self, name, nodes, inputs, outputs, constants=None, expected=None, check=None):
        """`outputs`: dtypes by name. `expected`: arrays by name, or what the reference computes."""
        model = make_model(nodes, inputs, [(n, onnx_type(t)) for n, t in outputs.items()], constants)
        if expected is None:
            with np.errstate(all="ignore"):
                values = ReferenceEvaluator(model).run(None, inputs)
            expected = dict(zip(outputs, values))
        assert name not in self.models, name
        self.models[name], self.feeds[name], self.expected[name] = model, inputs, expected
        self.checks[name] = check or same

    def run(self, folder, fuse=True):
        library = cpu_code.compile_models(self.models, folder, fuse)
        wrong = []
        for name in self.models:
            have = library.run(name, self.feeds[name])
            for pieces in (2, 3):
                again = library.run(name, self.feeds[name], pieces)
                for output in have:
                    assert have[output].tobytes() == again[output].tobytes(), f"{name}: {pieces} pieces give other bits"
            for output, want in self.expected[name].items():
                problem = self.checks[name](have[output], np.asarray(want))
                if problem:
                    wrong.append(f"{name}: {output}: {problem}")
        assert not wrong, f"{len(wrong)} of {len(self.models)} are wrong:\n" + "\n".join(wrong[:40])
        return library


def same(have, want):
    """Equal numbers; NaN equals NaN, and -0 equals 0 (numpy's own maximum is free there)."""
    if have.dtype != want.dtype or have.shape != want.shape:
        return f"{have.dtype}{have.shape} instead of {want.dtype}{want.shape}"
    if have.dtype.kind in "iub":
        bad = have != want
    else:
        a, b = have.astype(np.float64), want.astype(np.float64)
        bad = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if bad.any():
        where = np.unravel_index(np.argmax(bad), bad.shape)
        return f"{bad.sum()} of {bad.size} differ, at {tuple(map(int, where))}: {have[where]!r} instead of {want[where]!r}"
    return None


def within_ulp(limit):
    """At most `limit` units in the last place of float32 away from the exact value."""
    def check(have, want):
        exact = want.astype(np.float64)
        rounded = exact.astype(np.float32).astype(np.float64)
        unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
        a = have.astype(np.float64)
        with np.errstate(all="ignore"):
            error = np.where((a == rounded) | (np.isnan(a) & np.isnan(exact)), 0, np.abs(a - exact) / unit)
        error = np.where(np.isnan(error), np.inf, error)
        if error.max(initial=0) > limit:
            where = np.unravel_index(np.argmax(error), error.shape)
            return f"{error.max():.2f} ulp at {tuple(map(int, where))}: {a[where]!r} instead of {exact[where]!r}"
        return None
    return check


def close(relative, absolute=0.0):
    def check(have, want):
        a, b = have.astype(np.float64), want.astype(np.float64)
        with np.errstate(all="ignore"):
            bad = ~((np.abs(a - b) <= relative * np.abs(b) + absolute) | (a == b) | (np.isnan(a) & np.isnan(b)))
        if have.shape != want.shape or bad.any():
            return f"{have.shape} {want.shape} {bad.sum()} of {bad.size} differ: {a[bad][:3]} instead of {b[bad][:3]}"
        return None
    return check


def unary(op, **attributes):
    return [helper.make_node(op, ["x"], ["y"], **attributes)]


def binary(op, **attributes):
    return [helper.make_node(op, ["a", "b"], ["y"], **attributes)]


BROADCASTS = [((17,), (17,)), ((65,), (1,)), ((1,), (63,)), ((5, 16), (16,)), ((5, 17), (5, 1)), ((3, 1, 15), (4, 1)),
              ((2, 3, 4), (3, 4)), ((2, 3, 4), (2, 1, 4)), ((7, 1), (1, 130)), ((), (16,)), ((4, 4, 1, 3), (4, 1, 5, 1)), ((0, 3), (3,)),
              ((9001,), ()), ((3, 9001), (3, 1))]


def test_arithmetic(tmp_path):
    cases = Cases()
    for op, dtype in itertools.product(["Add", "Sub", "Mul", "Div"], FLOATS):
        for i, (a, b) in enumerate(BROADCASTS):
            name = f"{op}_{dtype.name}_{i}"
            rng = rng_of(name)
            cases.add(name, binary(op), {"a": draw(rng, dtype, a, specials=True), "b": draw(rng, dtype, b, specials=True)}, {"y": dtype})
    for op, dtype in itertools.product(["Add", "Sub", "Mul"], [I32, I64]):
        name = f"{op}_{dtype.name}"
        rng = rng_of(name)
        cases.add(name, binary(op), {"a": draw(rng, dtype, (5, 17)), "b": draw(rng, dtype, (17,))}, {"y": dtype})
    cases.run(tmp_path)


def test_other_elementwise(tmp_path):
    cases = Cases()
    for op, dtype, size in itertools.product(["Neg", "Abs", "Sqrt", "Floor", "Ceil", "Round", "Sign", "Relu", "Reciprocal", "Identity"], FLOATS, SIZES):
        name = f"{op}_{dtype.name}_{size}"
        if op == "Identity" and dtype == F64:
            continue
        x = draw(rng_of(name), dtype, (size,), specials=True)
        cases.add(name, unary(op), {"x": x}, {"y": dtype}, expected={"y": elementwise_reference(op, x)})
    for op, dtype in itertools.product(["Neg", "Abs", "Sign"], [I32, I64]):
        name = f"{op}_{dtype.name}"
        cases.add(name, unary(op), {"x": draw(rng_of(name), dtype, (37,))}, {"y": dtype})
    for op, dtype in itertools.product(["Max", "Min"], [F32, F16, BF16, F64, I32, I64, U8]):
        name = f"{op}_{dtype.name}"
        rng = rng_of(name)
        feeds = {n: draw(rng, dtype, s, specials=True) for n, s in (("a", (6, 17)), ("b", (17,)), ("c", (6, 1)))}
        want = (np.maximum if op == "Max" else np.minimum)
        cases.add(name, [helper.make_node(op, ["a", "b", "c"], ["y"])], feeds, {"y": dtype},
                  expected={"y": want(want(feeds["a"], feeds["b"]), feeds["c"])})
    for op, dtype in itertools.product(["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"], [F32, F16, BF16, I32, I64, U8]):
        name = f"{op}_{dtype.name}"
        rng = rng_of(name)
        feeds = {"a": draw(rng, dtype, (5, 19), -3, 3, specials=True), "b": draw(rng, dtype, (5, 1), -3, 3, specials=True)}
        cases.add(name, binary(op), feeds, {"y": BOOL}, expected={"y": getattr(np, {"Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less", "LessOrEqual": "less_equal"}[op])(feeds["a"], feeds["b"])})
    for op in ["And", "Or", "Xor", "Equal"]:
        rng = rng_of(op)
        cases.add(f"{op}_bool", binary(op), {"a": draw(rng, BOOL, (5, 17)), "b": draw(rng, BOOL, (17,))}, {"y": BOOL})
    cases.add("Not", unary("Not"), {"x": draw(rng_of("Not"), BOOL, (33,))}, {"y": BOOL})
    for dtype in [F32, F16, BF16, I64, BOOL]:
        rng = rng_of(dtype.name)
        feeds = {"c": draw(rng, BOOL, (4, 1, 17)), "a": draw(rng, dtype, (3, 17), specials=True), "b": draw(rng, dtype, (), specials=True)}
        cases.add(f"Where_{dtype.name}", [helper.make_node("Where", ["c", "a", "b"], ["y"])], feeds, {"y": dtype})
    for dtype in [F32, F16, BF16]:
        x = draw(rng_of("is" + dtype.name), dtype, (70,), specials=True)
        cases.add(f"IsNaN_{dtype.name}", unary("IsNaN"), {"x": x}, {"y": BOOL}, expected={"y": np.isnan(x)})
        cases.add(f"IsInf_{dtype.name}", unary("IsInf"), {"x": x}, {"y": BOOL}, expected={"y": np.isinf(x)})
        cases.add(f"IsInf_positive_{dtype.name}", unary("IsInf", detect_negative=0), {"x": x}, {"y": BOOL}, expected={"y": np.isposinf(x)})
    cases.run(tmp_path)


def elementwise_reference(op, x):
    wide = x.astype(np.float64 if x.dtype == F64 else np.float32)
    functions = {"Neg": np.negative, "Abs": np.abs, "Sqrt": np.sqrt, "Floor": np.floor, "Ceil": np.ceil, "Round": np.rint, "Sign": np.sign,
                 "Relu": lambda v: np.where(v < 0, 0, v), "Reciprocal": lambda v: 1 / v, "Identity": lambda v: v}
    with np.errstate(all="ignore"):
        return functions[op](wide).astype(x.dtype)


def test_integer_division(tmp_path):
    cases = Cases()
    rng = rng_of("division")
    for dtype in [I32, I64]:
        a, b = draw(rng, dtype, (200,), -50, 50), draw(rng, dtype, (200,), -7, 7)
        b[b == 0] = 3
        a[:2], b[:2] = np.iinfo(dtype).min, (-1, 1)
        with np.errstate(all="ignore"):
            truncated = (np.sign(a.astype(np.float64)) * np.sign(b) * (np.abs(a.astype(object)) // np.abs(b.astype(object)))).astype(object)
        truncated[0] = int(np.iinfo(dtype).min)  # wraps, as in two's complement
        truncated[1] = int(np.iinfo(dtype).min)
        cases.add(f"Div_{dtype.name}", binary("Div"), {"a": a, "b": b}, {"y": dtype}, expected={"y": truncated.astype(dtype)})
        cases.add(f"Mod_{dtype.name}", binary("Mod"), {"a": a, "b": b}, {"y": dtype}, expected={"y": np.mod(a, b)})
        cases.add(f"FMod_{dtype.name}", binary("Mod", fmod=1), {"a": a, "b": b}, {"y": dtype}, expected={"y": np.fmod(a, b)})
        # By zero: no trap, and 0.
        cases.add(f"DivZero_{dtype.name}", binary("Div"), {"a": a, "b": np.zeros_like(b)}, {"y": dtype}, expected={"y": np.zeros_like(a)})
    for dtype in (F32, F16, F64):
        a, b = draw(rng, dtype, (70,), -50, 50, specials=True), draw(rng, dtype, (70,), -7, 7, specials=True)
        with np.errstate(all="ignore"):
            cases.add(f"FMod_{dtype.name}", binary("Mod", fmod=1), {"a": a, "b": b}, {"y": dtype}, expected={"y": np.fmod(a, b)})
    for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        cases.add(op, binary(op), {"a": draw(rng, I64, (40,)), "b": draw(rng, I64, (40,))}, {"y": I64})
    for direction in ["LEFT", "RIGHT"]:
        a, b = rng.integers(0, 2**32, 50, dtype=np.uint32), rng.integers(0, 32, 50, dtype=np.uint32)
        cases.add(f"Shift_{direction}", binary("BitShift", direction=direction), {"a": a, "b": b}, {"y": np.dtype(np.uint32)})
    cases.run(tmp_path)


def grid(low, high, count=4001):
    """Numbers of float32 between two numbers, evenly spread, and around zero."""
    values = np.linspace(low, high, count).astype(np.float32)
    small = np.float32(2.0) ** np.arange(-149, 0, dtype=np.float32)
    near = np.concatenate([small, -small])
    return np.concatenate([values, near[(near > low) & (near < high)], np.array([np.nan, np.inf, -np.inf, 0.0], np.float32)])


#: Function of float64, range, limit in units in the last place of float32.
FUNCTIONS = {"Exp": (np.exp, (-104, 89), 1.25), "Log": (np.log, (0, 1e4), 1.0), "Tanh": (np.tanh, (-10, 10), 2.0), "Sin": (np.sin, (-1e4, 1e4), 1.0),
             "Cos": (np.cos, (-1e4, 1e4), 1.0), "Sigmoid": (lambda v: 1 / (1 + np.exp(-v)), (-104, 104), 3.0), "Erf": (None, (-5, 5), 2.5)}


def test_functions(tmp_path):
    import math
    cases = Cases()
    for op, (function, (low, high), limit) in FUNCTIONS.items():
        x = np.concatenate([grid(low, high), grid(low / 50, high / 50), np.array([1e30, -1e30] if op not in ("Sin", "Cos") else [1e8, -1e8], np.float32)])
        with np.errstate(all="ignore"):
            exact = (np.vectorize(math.erf, otypes=[np.float64]) if function is None else function)(x.astype(np.float64))
        cases.add(op, unary(op), {"x": x}, {"y": F32}, expected={"y": exact}, check=within_ulp(limit))
        for half in (F16, BF16):
            values = draw(rng_of(op), half, (500,), max(low, -20), min(high, 20))
            with np.errstate(all="ignore"):
                exact = (np.vectorize(math.erf, otypes=[np.float64]) if function is None else function)(values.astype(np.float64))
            cases.add(f"{op}_{half.name}", unary(op), {"x": values}, {"y": half}, expected={"y": exact.astype(half)}, check=close(2.0**-7 if half == BF16 else 2.0**-10))
    x = np.concatenate([grid(0, 8), -grid(0, 8)]).astype(np.float32)
    y = np.resize(np.array([2, 0.5, -1, 3.3, 0, -2.5, 7, 100, -100, np.inf, -np.inf, np.nan, 1e-3], np.float32), x.shape)
    with np.errstate(all="ignore"):
        cases.add("Pow", binary("Pow"), {"a": x, "b": y}, {"y": F32}, expected={"y": np.power(x.astype(np.float64), y.astype(np.float64))}, check=within_ulp(1.0))
        for exponent in (2.0, 3.0, 0.5, 1.0, -0.5):
            cases.add(f"Pow_{exponent}", [helper.make_node("Pow", ["a", "e"], ["y"])], {"a": x}, {"y": F32}, {"e": np.float32(exponent)},
                      expected={"y": np.where((x == -np.inf) & (exponent == 0.5), np.inf, np.power(x.astype(np.float64), exponent))}, check=within_ulp(1.5))
    cases.run(tmp_path)


def round_doubles(values, half):
    """To the nearest half, ties to even, in one rounding (ml_dtypes goes through float32)."""
    bits = np.arange(0x7f80 if half == BF16 else 0x7c00, dtype=np.uint16)
    finite = bits.view(half).astype(np.float64)
    top = finite[-1] + (finite[-1] - finite[-2])
    table = np.append(finite, top)
    magnitude = np.minimum(np.abs(values), top)
    above = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    low, high = magnitude - table[above - 1], table[above] - magnitude
    chosen = np.where((high < low) | ((high == low) & (above % 2 == 0)), above, above - 1)
    result = np.append(finite, np.inf)[chosen]
    return np.where(np.isnan(values), np.nan, np.copysign(result, values)).astype(half)


def test_casts(tmp_path):
    cases = Cases()
    types = [F32, F16, BF16, F64, I32, I64, U8, BOOL]
    for source, target in itertools.product(types, types):
        if source == target:
            continue
        name = f"Cast_{source.name}_{target.name}"
        rng = rng_of(name)
        x = draw(rng, source, (137,), -100, 100, specials=True)
        if source.kind not in "iub" and target.kind in "iu":
            info = np.iinfo(target)
            wide = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30))
            want = np.array([int(min(max(v, info.min), info.max)) for v in wide], dtype=target)
        else:
            with np.errstate(all="ignore"):
                want = x.astype(target)
        cases.add(name, unary("Cast", to=onnx_type(target)), {"x": x}, {"y": target}, expected={"y": want})
    # Every half there is, and numbers halfway between halves and next to them.
    for half in (F16, BF16):
        every = np.arange(65536, dtype=np.uint16).view(half)
        wide = every.astype(np.float32)
        step = wide.view(np.uint32)[:, None] + np.array([0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001], np.uint32)
        numbers = step.reshape(-1).view(np.float32)
        cases.add(f"Widen_{half.name}", unary("Cast", to=TensorProto.FLOAT), {"x": every}, {"y": F32}, expected={"y": wide})
        with np.errstate(all="ignore"):
            cases.add(f"Round_{half.name}", unary("Cast", to=onnx_type(half)), {"x": numbers}, {"y": half}, expected={"y": numbers.astype(half)})
        between = wide[:-1].astype(np.float64) + (wide[1:].astype(np.float64) - wide[:-1]) / 2
        doubles = np.concatenate([between, between * (1 + 2.0**-50), between * (1 - 2.0**-50)])
        with np.errstate(all="ignore"):
            cases.add(f"RoundWide_{half.name}", unary("Cast", to=onnx_type(half)), {"x": doubles}, {"y": half}, expected={"y": round_doubles(doubles, half)})
    cases.run(tmp_path)


REDUCED = [((17,), (0,)), ((5, 17), (1,)), ((5, 17), (0,)), ((130, 65), (0,)), ((3, 4, 5), (0, 2)), ((3, 4, 5), (1,)), ((2, 3, 15, 16), (0, 2, 3)), ((40, 1, 7), (1, 2)),
           ((4, 1), (1,)), ((300, 200), (0, 1)), ((70000,), (0,)), ((30000, 3), (0,)), ((2, 50000), (1,)), ((64, 3, 1000), (0, 2)), ((9, 16), ()), ((1, 1), (0, 1)), ((0, 4), (0,))]


def test_reductions(tmp_path):
    cases = Cases()
    functions = {"ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod}
    for (op, function), (i, (shape, axes)), dtype in itertools.product(functions.items(), enumerate(REDUCED), [F32, F16, BF16, F64, I64]):
        if dtype != F32 and i % 4 or (dtype == I64 and op in ("ReduceMean", "ReduceProd")):
            continue
        if 0 in shape and op not in ("ReduceSum", "ReduceProd"):
            continue
        name = f"{op}_{dtype.name}_{i}"
        x = draw(rng_of(name), dtype, shape, *((0.9, 1.1) if op == "ReduceProd" else (-4, 4)))
        keep = i % 2
        wide = x.astype(np.float64 if dtype.kind != "i" else np.int64)
        want = function(wide, axis=axes or None, keepdims=bool(keep))
        scale = np.abs(wide).sum(axis=axes or None, keepdims=bool(keep)) if op == "ReduceSum" and dtype.kind != "i" else 0
        step = {"float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-45}.get(dtype.name, 0)
        exact = op in ("ReduceMax", "ReduceMin") or dtype == I64
        check = None if exact else close(step * (20 if op == "ReduceProd" else 1), step * float(np.max(scale, initial=1)) / 10)
        constants = {"axes": np.array(axes, np.int64)} if axes else {}
        nodes = [helper.make_node(op, ["x"] + list(constants), ["y"], keepdims=keep)]
        cases.add(name, nodes, {"x": x}, {"y": dtype}, constants, expected={"y": np.asarray(want).astype(dtype)}, check=check)
    for op, function in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        x = draw(rng_of(op), F32, (40, 33), specials=True)
        cases.add(f"{op}_nan", [helper.make_node(op, ["x", "axes"], ["y"])], {"x": x}, {"y": F32}, {"axes": np.array([1])},
                  expected={"y": function(x, axis=1, keepdims=True)})
    cases.run(tmp_path)


def test_copies(tmp_path):
    cases = Cases()
    types = [F32, F16, BF16, I64, BOOL, U8]
    for (shape, perm), dtype in itertools.product([((17, 65), (1, 0)), ((2, 3, 16, 5), (0, 2, 1, 3)), ((2, 3, 16, 5), (3, 1, 0, 2)), ((1, 7, 1), (2, 0, 1)), ((4,), (0,)), ((33, 130, 2), (1, 0, 2))], types):
        name = f"Transpose_{dtype.name}_{shape}".replace(" ", "")
        cases.add(f"t{len(cases.models)}", unary("Transpose", perm=perm), {"x": draw(rng_of(name), dtype, shape, specials=True)}, {"y": dtype})
    for dtype in types:
        rng = rng_of("copies" + dtype.name)
        x = draw(rng, dtype, (4, 17, 6), specials=True)

        def add(op, inputs, outputs=("y",), **constants):
            attributes = {k: v for k, v in constants.items() if not isinstance(v, np.ndarray)}
            arrays = {k: v for k, v in constants.items() if isinstance(v, np.ndarray)}
            cases.add(f"{op}_{dtype.name}_{len(cases.models)}", [helper.make_node(op, [*inputs, *arrays], list(outputs), **attributes)],
                      inputs, {name: dtype for name in outputs}, arrays)

        ints = lambda *values: np.array(values, np.int64)
        add("Slice", {"x": x}, starts=ints(1, -9), ends=ints(3, 1000), axes=ints(0, 1))
        add("Slice", {"x": x}, starts=ints(-1, 16), ends=ints(-1000, -1000), axes=ints(2, 1), steps=ints(-2, -3))
        add("Slice", {"x": x}, starts=ints(0), ends=ints(17), axes=ints(1), steps=ints(4))
        add("Slice", {"x": x}, starts=ints(3), ends=ints(2), axes=ints(1))
        add("Expand", {"x": draw(rng, dtype, (17, 1))}, shape=ints(3, 1, 5))
        add("Tile", {"x": x}, repeats=ints(2, 1, 3))
        add("Split", {"x": x}, ("a", "b", "c"), split=ints(3, 10, 4), axis=1)
        add("Concat", {"x": x, "z": draw(rng, dtype, (4, 3, 6)), "w": draw(rng, dtype, (4, 16, 6))}, axis=-2)
        add("Reshape", {"x": x}, shape=ints(0, -1))
        add("Flatten", {"x": x}, axis=2)
        if dtype != U8 and dtype != BOOL:
            add("Pad", {"x": x}, pads=ints(0, 1, 2, 3, 0, 1), value=np.array(1, dtype))
            name = f"Crop_{dtype.name}"
            want = np.pad(x[:, 2:-3], ((1, 0), (0, 0), (0, 5)))
            cases.add(name, [helper.make_node("Pad", ["x", "pads"], ["y"])], {"x": x}, {"y": dtype}, {"pads": ints(1, -2, 0, 0, -3, 5)}, expected={"y": want})
    cases.run(tmp_path)


def test_indexing(tmp_path):
    cases = Cases()
    for dtype in [F32, F16, BF16, I64, BOOL]:
        rng = rng_of("indexing" + dtype.name)
        x = draw(rng, dtype, (5, 18, 7), specials=True)
        for axis, index_type in itertools.product((0, 1, -1), (I64, I32)):
            size = x.shape[axis]
            indices = rng.integers(-size, size, (3, 17)).astype(index_type)
            cases.add(f"Gather_{dtype.name}_{axis}_{index_type.name}", [helper.make_node("Gather", ["x", "i"], ["y"], axis=axis)],
                      {"x": x, "i": indices}, {"y": dtype}, expected={"y": np.take(x, indices, axis)})
            shape = (4, 17, 6)
            elements = rng.integers(-size, size, shape).astype(index_type)
            cases.add(f"GatherElements_{dtype.name}_{axis}_{index_type.name}", [helper.make_node("GatherElements", ["x", "i"], ["y"], axis=axis)],
                      {"x": x, "i": elements}, {"y": dtype},
                      expected={"y": np.take_along_axis(x[tuple(slice(0, s) if a != axis % 3 else slice(None) for a, s in enumerate(shape))], elements % size, axis % 3)})
        for batch, depth in ((0, 1), (0, 2), (0, 3), (1, 1), (1, 2)):
            lead = (5,) if batch else ()
            indices = np.stack([rng.integers(0, x.shape[batch + d], lead + (9,)) for d in range(depth)], -1)
            cases.add(f"GatherND_{dtype.name}_{batch}_{depth}", [helper.make_node("GatherND", ["x", "i"], ["y"], batch_dims=batch)], {"x": x, "i": indices}, {"y": dtype})
    for dtype, reduction in itertools.product([F32, F16, I64], ["none", "add", "mul", "max", "min"]):
        rng = rng_of(f"scatter{dtype.name}{reduction}")
        x = draw(rng, dtype, (6, 19, 5))
        for axis in (0, 1, 2):
            shape = [4, 17, 3]
            if reduction == "none":  # ONNX leaves open which of two updates stays
                shape[axis] = min(shape[axis], x.shape[axis])
                indices = np.argsort(rng.random([x.shape[axis] if a == axis else s for a, s in enumerate(shape)]), axis)
                indices = indices[tuple(slice(0, s) for s in shape)]
            else:
                indices = rng.integers(-x.shape[axis], x.shape[axis], shape)
            updates = draw(rng, dtype, shape)
            want = x.copy()
            for p in np.ndindex(*shape):
                q = list(p)
                q[axis] = indices[p]
                want[tuple(q)] = {"none": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min}[reduction](want[tuple(q)], updates[p])
            cases.add(f"ScatterElements_{dtype.name}_{reduction}_{axis}", [helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=axis, reduction=reduction)],
                      {"x": x, "i": indices, "u": updates}, {"y": dtype}, expected={"y": want})
        for depth in (1, 2):
            count = 4 if reduction == "none" else 12
            rows = rng.permutation(6)[:count] if reduction == "none" else rng.integers(-6, 6, count)
            indices = np.stack([rows] + [rng.integers(0, 19, count)] * (depth - 1), -1)
            updates = draw(rng, dtype, (count,) + x.shape[depth:])
            want = x.copy()
            for i, index in enumerate(indices):
                at = tuple(index)
                want[at] = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction](want[at], updates[i])
            cases.add(f"ScatterND_{dtype.name}_{reduction}_{depth}", [helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction=reduction)],
                      {"x": x, "i": indices, "u": updates}, {"y": dtype}, expected={"y": want})
    cases.run(tmp_path)


def test_generators(tmp_path):
    cases = Cases()
    rng = rng_of("generators")
    for axis, index_type in itertools.product((0, 1, -1), (I64, I32)):
        indices = rng.integers(-21, 21, (3, 17)).astype(index_type)
        cases.add(f"OneHot_{axis}_{index_type.name}", [helper.make_node("OneHot", ["i", "depth", "values"], ["y"], axis=axis)],
                  {"i": indices, "values": np.array([-1.5, 2.0], np.float32)}, {"y": F32}, {"depth": np.array([19], np.int64)},
                  expected={"y": np.moveaxis(np.where((np.where(indices < 0, indices + 19, indices)[..., None] == np.arange(19)), np.float32(2.0), np.float32(-1.5)), -1, axis)})
    for k, upper, shape in itertools.product((-3, 0, 2), (0, 1), ((17, 33), (2, 3, 16, 5))):
        x = draw(rng, F16, shape, specials=True)
        cases.add(f"Trilu_{len(cases.models)}", [helper.make_node("Trilu", ["x", "k"], ["y"], upper=upper)], {"x": x}, {"y": F16}, {"k": np.array(k, np.int64)})
    for start, limit, delta in ((0, 33, 1), (5, -20, -3)):
        cases.add(f"Range_{start}", [helper.make_node("Range", ["s", "l", "d"], ["r"]), helper.make_node("Add", ["x", "r"], ["y"])], {"x": np.zeros(1, np.int64)}, {"y": I64},
                  {"s": np.array(start), "l": np.array(limit), "d": np.array(delta)}, expected={"y": np.arange(start, limit, delta)})
    cases.run(tmp_path)


def test_lines(tmp_path):
    cases = Cases()
    for dtype in [F32, F16, F64, I64, I32]:
        rng = rng_of("lines" + dtype.name)
        x = draw(rng, dtype, (3, 16, 19), -5, 5)
        if dtype.kind != "i":
            x = np.round(x)  # ties
        for axis in (0, 1, -1):
            for op, last, keep in itertools.product(("ArgMax", "ArgMin"), (0, 1), (0, 1)):
                cases.add(f"{op}_{dtype.name}_{axis}_{last}{keep}", unary(op, axis=axis, select_last_index=last, keepdims=keep), {"x": x}, {"y": I64})
            for exclusive, reverse in itertools.product((0, 1), (0, 1)):
                if dtype != F16:
                    cases.add(f"CumSum_{dtype.name}_{axis}_{exclusive}{reverse}", [helper.make_node("CumSum", ["x", "a"], ["y"], exclusive=exclusive, reverse=reverse)],
                              {"x": x}, {"y": dtype}, {"a": np.array(axis, np.int64)})
            for largest in (0, 1):
                order = np.argsort(-x if largest else x, axis, kind="stable")
                order = np.take(order, range(3), axis)
                cases.add(f"TopK_{dtype.name}_{axis}_{largest}", [helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=axis, largest=largest)], {"x": x},
                          {"v": dtype, "i": I64}, {"k": np.array([3], np.int64)}, expected={"v": np.take_along_axis(x, order, axis), "i": order})
    cases.run(tmp_path)


POOLS = [dict(kernel_shape=[2, 2], strides=[2, 2]), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), dict(kernel_shape=[3, 2], pads=[1, 0, 2, 1]),
         dict(kernel_shape=[3, 3], strides=[2, 3], auto_pad="SAME_UPPER"), dict(kernel_shape=[2, 3], dilations=[2, 1]), dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)]


def pool_case(cases, name, op, x, dtype, check=None, **attributes):
    """Against ONNX Runtime, in float32: the largest of halves is the largest of the same numbers."""
    import engines
    nodes = [helper.make_node(op, ["x"], ["y"], **attributes)]
    wide = x.astype(np.float32)
    want = engines.run_ort(make_model(nodes, {"x": wide}, [("y", TensorProto.FLOAT)]), {"x": wide})["y"]
    cases.add(name, nodes, {"x": x}, {"y": dtype}, expected={"y": want.astype(dtype)}, check=check)


def test_pooling(tmp_path):
    cases = Cases()
    for i, attributes in enumerate(POOLS):
        for dtype in (F32, F16):
            pool_case(cases, f"MaxPool_{i}_{dtype.name}", "MaxPool", draw(rng_of(f"pool{i}"), dtype, (2, 3, 17, 20)), dtype, **attributes)
        for include in (0, 1):
            if not include or "auto_pad" not in attributes:
                pool_case(cases, f"AveragePool_{i}_{include}", "AveragePool", draw(rng_of(f"pool{i}"), F32, (2, 3, 17, 20)), F32, check=close(1e-5, 1e-6),
                          count_include_pad=include, **attributes)
    pool_case(cases, "MaxPool_1d", "MaxPool", draw(rng_of("1d"), F32, (2, 3, 37)), F32, kernel_shape=[3])
    pool_case(cases, "MaxPool_3d", "MaxPool", draw(rng_of("3d"), F32, (1, 2, 5, 6, 7)), F32, kernel_shape=[2, 2, 3])
    cases.run(tmp_path)


def pool_gradient(op, x, g, kernel, strides, pads, include=False):
    """Gradients of pooling, window by window, as docs/dialects says: sums in float32, rounded once."""
    result = np.zeros(x.shape, np.float32)
    for n, c, i, j in np.ndindex(*g.shape):
        rows = [(r, s) for r in range(i * strides[0] - pads[0], i * strides[0] - pads[0] + kernel[0]) for s in range(j * strides[1] - pads[1], j * strides[1] - pads[1] + kernel[1])]
        inside = [(r, s) for r, s in rows if 0 <= r < x.shape[2] and 0 <= s < x.shape[3]]
        value = np.float32(g[n, c, i, j])
        if op == "max":
            best = inside[0]
            for p in inside:
                if x[n, c][p] > x[n, c][best] or (np.isnan(x[n, c][p]) and not np.isnan(x[n, c][best])):
                    best = p
            result[n, c][best] += value
        else:
            for p in inside:
                result[n, c][p] += value / np.float32(len(rows) if include else len(inside))
    return result.astype(x.dtype)


def test_pooling_gradients(tmp_path):
    cases, models = Cases(), {}
    for (op, include), (kernel, strides, pads), (dtype, spelling), width in itertools.product(
            (("max", 0), ("average", 0), ("average", 1)), (([2, 2], [2, 2], [0, 0, 0, 0]), ([3, 3], [2, 2], [1, 1, 1, 1]), ([3, 2], [1, 1], [0, 1, 1, 0])),
            ((F32, "f32"), (F16, "f16"), (BF16, "bf16")), (5, 37)):
        name = f"{op}{include}_{len(models)}"
        x = draw(rng_of(name), dtype, (2, 3, 8, width))
        x[0, 0, :4] = np.round(x[0, 0, :4].astype(np.float32))  # ties
        if op == "max":
            x[1, 2, 3, 3:5] = np.nan
        shape = [2, 3] + [(x.shape[2 + d] + pads[d] + pads[d + 2] - kernel[d]) // strides[d] + 1 for d in (0, 1)]
        g = draw(rng_of(name + "g"), dtype, shape)
        tensors = ["tensor<" + "x".join(map(str, v.shape)) + f"x{spelling}>" for v in (x, g)]
        attributes = "kernel_shape = array<i64: {}>, strides = array<i64: {}>, dilations = array<i64: 1, 1>, pads = array<i64: {}>".format(*(", ".join(map(str, v)) for v in (kernel, strides, pads)))
        call = f"train.max_pool_gradient %x, %g {{{attributes}}} : ({tensors[0]}, {tensors[1]})" if op == "max" else \
            f"train.average_pool_gradient %g {{{attributes}{', count_include_pad' if include else ''}}} : ({tensors[1]})"
        models[name] = f"""func.func @f(%x: {tensors[0]} {{onnx.name = "x"}}, %g: {tensors[1]} {{onnx.name = "g"}}) -> ({tensors[0]} {{onnx.name = "y"}}) {{
          %y = {call} -> {tensors[0]}
          return %y : {tensors[0]}
        }}"""
        cases.feeds[name], cases.checks[name] = {"x": x, "g": g}, same if op == "max" else close(1e-6 if dtype == F32 else 2.0**-7, 1e-6)
        cases.expected[name] = {"y": pool_gradient(op, x, g, kernel, strides, pads, include)}
    cases.models = models
    cases.run(tmp_path)


def random_graph(rng, dtype):
    """A graph of elementwise operators, reductions and views over one space, with whatever broadcasts and branches come up."""
    space = tuple(int(s) for s in rng.choice([1, 2, 3, 5, 16, 17, 33], rng.integers(1, 4)))
    feeds, values, nodes = {}, [], []

    def name():
        return f"v{len(nodes)}"

    for i in range(rng.integers(1, 4)):
        shape = tuple(s if rng.random() < 0.7 else 1 for s in space)
        feeds[f"x{i}"] = draw(rng, dtype, shape[rng.integers(0, len(shape)):] if i else space)
        values.append((f"x{i}", feeds[f"x{i}"].shape))
    for _ in range(rng.integers(4, 25)):
        kind = rng.choice(["unary", "binary", "binary", "binary", "reduce", "view", "norm"])
        x, shape = values[rng.integers(max(0, len(values) - 5), len(values))]
        result = name()
        if kind == "unary":
            nodes.append(helper.make_node(rng.choice(["Neg", "Abs", "Tanh", "Sigmoid", "Relu", "Exp", "Sqrt"]), [x], [result]))
        elif kind == "binary":
            y, other = values[rng.integers(0, len(values))]
            try:
                shape = np.broadcast_shapes(shape, other)
            except ValueError:
                continue
            if np.prod(shape) > 20000:
                continue
            nodes.append(helper.make_node(rng.choice(["Add", "Sub", "Mul", "Div", "Max", "Min"]), [x, y] if rng.random() < 0.5 else [y, x], [result]))
        elif kind == "reduce" and shape:
            axes = sorted(int(a) for a in rng.choice(len(shape), rng.integers(1, len(shape) + 1), replace=False))
            keep = int(rng.random() < 0.7)
            nodes.append(helper.make_node(rng.choice(["ReduceSum", "ReduceMax", "ReduceMean"]), [x, f"axes{'_'.join(map(str, axes))}"], [result], keepdims=keep))
            shape = tuple(1 if a in axes else s for a, s in enumerate(shape) if keep or a not in axes)
        elif kind == "view" and shape:
            axis = int(rng.integers(0, len(shape) + 1))
            nodes.append(helper.make_node("Unsqueeze", [x, f"axes{axis}"], [result]))
            shape = shape[:axis] + (1,) + shape[axis:]
        elif kind == "norm" and shape:  # softmax: the rows kernels' own
            last = f"axes{len(shape) - 1}"
            nodes += [helper.make_node("ReduceMax", [x, last], [result + "m"]), helper.make_node("Sub", [x, result + "m"], [result + "s"]),
                      helper.make_node("Exp", [result + "s"], [result + "e"]), helper.make_node("ReduceSum", [result + "e", last], [result + "r"]),
                      helper.make_node("Div", [result + "e", result + "r"], [result])]
        else:
            continue
        values.append((result, shape))
    made = [v for v, _ in values if not v.startswith("x")]
    outputs = {v: dtype for v in made if v == made[-1] or rng.random() < 0.3}
    used = {i for n in nodes for i in n.input if i.startswith("axes")}
    return nodes, feeds, outputs, {a: np.array([int(d) for d in a[4:].split("_")], np.int64) for a in used}


def test_fusion_changes_no_bit(tmp_path):
    cases = Cases()
    for seed in range(120):
        rng = np.random.default_rng(seed)
        nodes, feeds, outputs, constants = random_graph(rng, [F32, F32, F16, BF16][seed % 4])
        if nodes:
            cases.add(f"g{seed}", nodes, feeds, outputs, constants, expected={})
    (tmp_path / "fused").mkdir(), (tmp_path / "single").mkdir()
    fused = cases.run(tmp_path / "fused")
    single = cpu_code.compile_models(cases.models, tmp_path / "single", fuse=False)
    calls = [0, 0]
    for name in cases.models:
        a, b = fused.run(name, cases.feeds[name]), single.run(name, cases.feeds[name])
        for output in a:
            x, y = (v[output].view(f"u{v[output].dtype.itemsize}") for v in (a, b))
            nans = np.isnan(a[output].astype(np.float32)) & np.isnan(b[output].astype(np.float32))
            assert ((x == y) | nans).all(), f"{name}: {output}\n{fused.entries[name]['plan']}"
        for i, library in enumerate((fused, single)):
            calls[i] += int(library.entries[name]["plan"].split(" calls")[0].split()[-1])
    assert calls[0] < 0.6 * calls[1], calls


def test_processors_agree(tmp_path):
    """AVX2 code gives the bits of what this machine has."""
    cases = Cases()
    for seed in range(60):
        rng = np.random.default_rng(500 + seed)
        nodes, feeds, outputs, constants = random_graph(rng, [F32, F16, BF16][seed % 3])
        if nodes:
            cases.add(f"g{seed}", nodes, feeds, outputs, constants, expected={})
    x = grid(-90, 90, 1501)
    for op in FUNCTIONS:
        cases.add(op, unary(op), {"x": x}, {"y": F32}, expected={})
    for dtype, (source, target) in itertools.product([F16, BF16], ((0, 1), (1, 0))):
        every = np.arange(65536, dtype=np.uint16).view(dtype)
        types = [dtype, F32]
        cases.add(f"Cast_{dtype.name}_{source}", unary("Cast", to=onnx_type(types[target])), {"x": every.astype(types[source])}, {"y": types[target]}, expected={})
    for name in ("native", "avx2"):
        (tmp_path / name).mkdir()
    native = cases.run(tmp_path / "native")
    other = cpu_code.compile_models(cases.models, tmp_path / "avx2", cpu="x86-64-v3")
    for name in cases.models:
        a, b = native.run(name, cases.feeds[name]), other.run(name, cases.feeds[name])
        for output in a:
            x, y = (v[output].view(f"u{v[output].dtype.itemsize}") for v in (a, b))
            nans = np.isnan(a[output].astype(np.float32)) & np.isnan(b[output].astype(np.float32))
            assert ((x == y) | nans).all(), f"{name}: {output}"


def test_fused_graphs(tmp_path):
    """The same graphs against the reference: float64 sums would differ, so what is compared is close, not equal."""
    cases = Cases()
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        nodes, feeds, outputs, constants = random_graph(rng, F32)
        if nodes:
            cases.add(f"g{seed}", nodes, feeds, outputs, constants, check=close(2e-3, 1e-4))
    cases.run(tmp_path)


def random_step(rng):
    """A function whose results are written over arguments, in any order: text, arguments, what they hold afterwards, results."""
    count, shape = int(rng.integers(2, 5)), (6, 6) if rng.random() < 0.5 else (37,)
    arguments = {f"a{i}": draw(rng, F32, shape) for i in range(count)}
    values, lines = dict(arguments), []
    kind = "tensor<" + "x".join(map(str, shape)) + "xf32>"
    for i in range(rng.integers(1, 12)):
        x, y = (str(v) for v in rng.choice(list(values), 2))
        op = rng.choice(["Add", "Sub", "Mul", "Transpose", "Identity"] if len(shape) == 2 else ["Add", "Sub", "Mul", "Identity"])
        operands = [x, y] if op in ("Add", "Sub", "Mul") else [x]
        lines.append(f"%v{i} = onnx.{op}({', '.join('%' + o for o in operands)}) : ({', '.join([kind] * len(operands))}) -> {kind}")
        values[f"v{i}"] = {"Add": lambda: values[x] + values[y], "Sub": lambda: values[x] - values[y], "Mul": lambda: values[x] * values[y],
                           "Transpose": lambda: values[x].T, "Identity": lambda: values[x]}[op]()
    after, results, returned, types = dict(arguments), {}, [], []
    for i in range(count):
        if rng.random() < 0.7:
            value = str(rng.choice(list(values)))
            returned.append(value), types.append(f'{kind} {{train.alias = {i} : i64, train.role = "parameter"}}')
            after[f"a{i}"] = values[value]
    for i in range(rng.integers(0, 3)):
        value = str(rng.choice(list(values)))
        returned.append(value), types.append(f'{kind} {{onnx.name = "y{i}"}}')
        results[f"y{i}"] = values[value]
    order = rng.permutation(len(returned))
    returned, types = [returned[i] for i in order], [types[i] for i in order]
    parameters = ", ".join(f'%{n}: {kind} {{onnx.name = "{n}"}}' for n in arguments)
    text = f"func.func @f({parameters}) -> ({', '.join(types)}) {{\n  " + "\n  ".join(lines)
    text += f"\n  return {', '.join('%' + r for r in returned)}" + (f" : {', '.join([kind] * len(returned))}" if returned else "") + "\n}\n"
    return text, arguments, after, results


def test_results_over_arguments(tmp_path):
    steps = {f"s{seed}": random_step(np.random.default_rng(seed)) for seed in range(250)}
    for fuse in (True, False):
        folder = tmp_path / str(fuse)
        folder.mkdir()
        library = cpu_code.compile_models({name: step[0] for name, step in steps.items()}, folder, fuse)
        for name, (text, arguments, after, results) in steps.items():
            state = {}
            have = library.run(name, arguments, 2, state)
            for output, want in results.items():
                assert same(have[output], np.ascontiguousarray(want)) is None, f"{name}: {output}\n{text}"
            for argument, want in after.items():
                assert same(state[argument], np.ascontiguousarray(want)) is None, f"{name}: {argument}\n{text}\n{library.entries[name]['plan']}"


def test_updates_are_in_place(tmp_path):
    """A parameter's update needs no memory beside the parameter's."""
    text = """func.func @f(%p: tensor<1000xf32> {onnx.name = "p"}, %m: tensor<1000xf32> {onnx.name = "m"}, %g: tensor<1000xf32> {onnx.name = "g"})
        -> (tensor<1000xf32> {train.alias = 0 : i64}, tensor<1000xf32> {train.alias = 1 : i64}) {
      %0 = onnx.Add(%m, %g) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
      %1 = onnx.Sub(%p, %0) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
      return %1, %0 : tensor<1000xf32>, tensor<1000xf32>
    }"""
    library = cpu_code.compile_models({"update": text}, tmp_path)
    entry = library.entries["update"]
    assert entry["workspace"] == 0 and "1 groups, 1 calls of 1 kernels" in entry["plan"] and "copies" not in entry["plan"]


@pytest.mark.parametrize("body, message", [
    ("%0 = onnx.Det(%x) {onnx.name = \"d\"} : (tensor<4x4xf32>) -> tensor<f32>", "cannot compile onnx.Det 'd' for the CPU: it has no kernel"),
    ("%0 = onnx.NonZero(%x) {onnx.name = \"n\"} : (tensor<4x4xf32>) -> tensor<2x?xi64>", "cannot compile onnx.NonZero 'n': it has a value of type 'tensor<2x?xi64>'"),
    ("%0 = onnx.Pad(%x, %p) {onnx.name = \"p\"} : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<6x6xf32>", "its pads must be constant")])
def test_what_has_no_kernel(tmp_path, body, message):
    kind = body.rsplit("-> ")[-1]
    path = tmp_path / "m.mlir"
    path.write_text(f'func.func @f(%x: tensor<4x4xf32> {{onnx.name = "x"}}, %p: tensor<4xi64> {{onnx.name = "p"}}) -> ({kind} {{onnx.name = "y"}}) {{\n{body}\nreturn %0 : {kind}\n}}')
    run = cpu_code.run_process([cpu_code.program(), tmp_path, path])
    assert run.code == 1 and message in run.stderr, run.describe()


@pytest.mark.parametrize("shapes", [((17, 33), (33, 5)), ((2, 3, 16, 7), (2, 3, 7, 20)), ((4, 9, 8), (8, 6))])
def test_products_absorb_transposes(tmp_path, shapes):
    """Transposes of the last two dimensions around a product cost nothing and change no bit."""
    rng = rng_of(str(shapes))
    a, b = (draw(rng, F32, shape) for shape in shapes)
    want = np.matmul(a.astype(np.float64), b.astype(np.float64))
    kind = lambda shape: "tensor<" + "x".join(map(str, shape)) + "xf32>"
    swap = lambda value: np.ascontiguousarray(np.swapaxes(value, -1, -2))
    perm = lambda value: "array<i64: " + ", ".join(map(str, [*range(value.ndim - 2), value.ndim - 1, value.ndim - 2])) + ">"
    models, feeds = {}, {}
    for ta, tb, tc in itertools.product((0, 1), repeat=3):
        x, y = swap(a) if ta else a, swap(b) if tb else b
        lines, left, right = [], "%a", "%b"
        if ta:
            lines.append(f"%at = onnx.Transpose(%a) {{perm = {perm(a)}}} : ({kind(x.shape)}) -> {kind(a.shape)}")
            left = "%at"
        if tb:
            lines.append(f"%bt = onnx.Transpose(%b) {{perm = {perm(b)}}} : ({kind(y.shape)}) -> {kind(b.shape)}")
            right = "%bt"
        lines.append(f"%c = train.matmul {left}, {right} : ({kind(a.shape)}, {kind(b.shape)}) -> {kind(want.shape)}")
        result, shape = "%c", want.shape
        if tc:
            shape = swap(want).shape
            lines.append(f"%ct = onnx.Transpose(%c) {{perm = {perm(want)}}} : ({kind(want.shape)}) -> {kind(shape)}")
            result = "%ct"
        name = f"m{ta}{tb}{tc}"
        body = "\n".join(lines)
        models[name] = f'func.func @f(%a: {kind(x.shape)} {{onnx.name = "a"}}, %b: {kind(y.shape)} {{onnx.name = "b"}}) -> ({kind(shape)} {{onnx.name = "y"}}) {{\n{body}\nreturn {result} : {kind(shape)}\n}}'
        feeds[name] = {"a": x, "b": y}
    library = cpu_code.compile_models(models, tmp_path)
    plain = library.run("m000", feeds["m000"])["y"]
    assert close(1e-5, 1e-5)(plain, want) is None
    for name in models:
        have = library.run(name, feeds[name], 3)["y"]
        assert (have if name[3] == "0" else swap(have)).tobytes() == plain.tobytes(), name
        assert "Transpose" not in library.entries[name]["plan"], library.entries[name]["plan"]
