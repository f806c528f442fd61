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
