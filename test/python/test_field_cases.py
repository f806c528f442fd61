"""Situations that people who lower model graphs keep running into, with the values that are right.

The comment above a test says what faulty designs give. Every conversion is also checked for the demands of docs/validation.md.
"""
import itertools
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from harness import FULL, amp_opt, autocast
from small import BF16, F16, F32, NARROW, STEP, close, exact, floats, identity, make_model, model, node_producing, nodes, same_nodes

both = pytest.mark.parametrize("dtype", ["f16", "bf16"])


def policy(folder, **classes):
    """Path of a policy file that changes the class of some ops."""
    path = Path(folder) / "mine.json"
    rows = [{"op": op, "class": name, "note": "asked for by the test"} for op, name in classes.items()]
    path.write_text(json.dumps({"name": "mine", "extends": "balanced", "rows": rows}))
    return path


# 1. An old Cast to float in front of a lowered op. Wrong: a value declared f16 behind a Cast to FLOAT.
@pytest.mark.parametrize("kind, feed, want", [("int64", np.array([[1, 2, 3, 4]]), 5.0), ("bool", np.ones((1, 4), bool), 2.0)])
def test_cast_before_a_narrow_op(lower, kind, feed, want):
    result = lower(model(f"g ({kind}[1,4] ids) => (float[1,3] Y) {{ t = Cast<to=1>(ids) Y = MatMul(t, W) }}", {"W": np.full((4, 3), 0.5, np.float32)}))
    assert result.narrow("MatMul")
    exact(result.run(ids=feed)["Y"], [[want] * 3])


# 2. One producer, one narrow and one wide consumer. Wrong: 1024.5, the wide branch went through the narrow copy.
@both
def test_narrow_and_wide_consumer(lower, dtype):
    result = lower(model("g (int32[2,2] n) => (float[2,2] P, float[2] Q) "
                         "{ t = Cast<to=1>(n) P = MatMul(t, W) Q = ReduceMean<axes=[1], keepdims=0>(t) }", {"W": identity(2)}), dtype)
    assert result.type_of("ReduceMean") == F32
    out = result.run(n=np.array([[2049, 1], [4, 6]], np.int32))
    exact(out["Q"], [1025, 5])
    close(out["P"], [[2049, 1], [4, 6]], STEP[dtype])


# 3a. Resize: scales stay float; a constant shared with a narrow op.
def test_resize_scales_stay_float(lower):
    result = lower(model('g (float[1,1,2,2] X) => (float[1,1,4,4] Y) { c = Conv(X, K) r = Resize<mode="nearest">(c, "", S) Y = Add(r, S) }',
                         {"K": floats([1.0], shape=(1, 1, 1, 1)), "S": floats([1, 1, 2, 2])}))
    assert result.type_of("Resize", 2) == F32
    exact(result.run(X=floats([[[[1, 2], [3, 4]]]]))["Y"][0, 0], [[2, 2, 4, 4], [2, 2, 4, 4], [4, 4, 6, 6], [4, 4, 6, 6]])


# 3b. Resize with two absent inputs.
def test_resize_empty_slots_stay_empty(lower):
    result = lower(model('g (float[1,1,2,2] X) => (float[1,1,4,4] Y) { c = Conv(X, K) Y = Resize<mode="nearest">(c, "", "", Z) }',
                         {"K": floats([1.0], shape=(1, 1, 1, 1)), "Z": np.array([1, 1, 4, 4])}))
    resize, = nodes(result.model, "Resize")
    assert list(resize.input[1:3]) == ["", ""]
    assert all(n.input[0] for n in result.casts())
    exact(result.run(X=floats([[[[1, 2], [3, 4]]]]))["Y"][0, 0], [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]])


# 4. One weight, two precisions. Wrong: reg = inf, or a clash between the two users.
def test_weight_with_a_penalty(lower):
    result = lower(model("g (float[1,2] X) => (float[1,2] Y, float reg) { Y = MatMul(X, W) s = Mul(W, W) reg = ReduceSum<keepdims=0>(s) }",
                         {"W": np.full((2, 2), 300, np.float32)}))
    assert result.narrow("MatMul") and result.type_of("Mul") == F32
    out = result.run(X=floats([[1, 2]]))
    exact(out["Y"], [[900, 900]])
    exact(out["reg"], 360000)


# 5. Pow has two type variables. Wrong: inf when denied; a cast of an i64 exponent.
@pytest.mark.parametrize("exponent", [np.float32(2), np.int64(2)], ids=["float", "int64"])
@pytest.mark.parametrize("follow", [False, True], ids=["denied", "follow"])
def test_pow(lower, tmp_path, exponent, follow):
    options = {"policy": policy(tmp_path, Pow="follow")} if follow else {}
    result = lower(model("g (float[1,2] X) => (float[1,2] Y) { m = MatMul(X, I) Y = Pow(m, e) }", {"I": identity(2), "e": np.asarray(exponent)}), **options)
    pow_, = nodes(result.model, "Pow")
    if exponent.dtype == np.int64:
        assert result.types[pow_.input[1]] == TensorProto.INT64
    exact(result.run(X=floats([[3, 4]]))["Y"], [[9, 16]])
    if not follow:
        exact(result.run(X=floats([[300, 2]]))["Y"], [[90000, 4]])


# 6. Scalar operands tied to the data type. Wrong: "type parameter T bound to different types".
def test_scalars_follow_their_data(lower):
    result = lower(model("g (float[1,2] X, bool[1,4] C) => (float[1,4] Y) { m = MatMul(X, I) d = Pad(m, p, v) k = Clip(d, lo, hi) Y = Where(C, k, z) }",
                         {"I": identity(2), "p": np.array([0, 1, 0, 1]), "v": np.float32(-1), "lo": np.float32(-0.5), "hi": np.float32(6), "z": np.float32(0.25)}))
    for op, slots in (("Pad", (0, 2)), ("Clip", (0, 1, 2)), ("Where", (1, 2))):
        assert len({result.type_of(op, slot) for slot in slots}) == 1, op
    exact(result.run(X=floats([[1, 2]]), C=np.array([[True, True, False, True]]))["Y"], [[-0.5, 1, 0.25, -0.5]])


# 7. Ops that name their own type.
def test_ops_that_name_their_type(lower):
    source = model("""g (float[2,2] X) => (float[2,2] Z) {
        s = Shape(X) c = ConstantOfShape<value = float[1] {2.0}>(s) e = EyeLike<dtype = 1>(X) m = MatMul(X, I)
        a = Add(m, c) b = Add(a, e) n = RandomNormalLike<dtype = 1>(X) nz = Mul(n, zero) Z = Add(b, nz) }""", {"I": identity(2), "zero": np.float32(0)})
    exact(lower(source).run(X=floats([[1, 2], [3, 4]]))["Z"], [[4, 4], [5, 7]])


def _batch_norm(opset):
    return model("g (float[2,3,4] X) => (float[2,3,4] Y) { c = Conv(X, K) Y = BatchNormalization<epsilon = 0.00001>(c, s, b, m, v) }", {
        "K": identity(3).reshape(3, 3, 1), "s": floats(1, 2, 1), "b": floats(0, 0, 1), "m": floats(0, 1, 0), "v": floats(1, 4, 1)}, opset=opset)


# 8. Normalisation parameters by opset: at 15 statistics may stay float32 beside narrow data, at 14 scale and bias may not.
@pytest.mark.parametrize("opset", [14, 15])
def test_batch_normalization(lower, opset):
    result = lower(_batch_norm(opset))
    data = np.broadcast_to(np.arange(1, 4, dtype=np.float32).reshape(1, 3, 1), (2, 3, 4))
    close(result.run(X=np.ascontiguousarray(data))["Y"], np.broadcast_to(floats(1, 1, 4).reshape(1, 3, 1), (2, 3, 4)), STEP["f16"])
    types = [result.type_of("BatchNormalization", slot) for slot in range(5)]
    if result.model.opset_import[0].version >= 15:
        assert types == [F16] + [F32] * 4
    else:
        assert types[0] == types[1] == types[2]


def test_batch_normalization_with_half_data_is_left_alone(lower):
    source = _batch_norm(15)
    for value in (*source.graph.input, *source.graph.output):
        value.type.tensor_type.elem_type = F16
    kernel = source.graph.initializer[0]
    kernel.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(kernel).astype(np.float16), "K"))
    same_nodes(lower.round_trip(source), source)


# 9. Values that are nobody's business. Wrong: df = inf, bc typed as a float.
def test_integers_and_doubles_stay(lower):
    result = lower(model("""g (float[1,2] X, int64[1] big, double[1] dd) => (float[1,2] gg, int64[1] bc, double[1] d2, float[1] df) {
        m = MatMul(X, I) i = ArgMax<axis=1, keepdims=0>(m) gg = Gather(E, i) bc = Clip(big, lo, hi) d2 = Mul(dd, dd) df = Cast<to=1>(dd) }""",
                         {"I": identity(2), "E": floats([[1, 2], [3, 4]]), "lo": np.int64(0), "hi": np.int64(100000)}))
    out = result.run(X=floats([[5, 9]]), big=np.array([99999]), dd=np.array([1e30]))
    exact(out["gg"], [[3, 4]])
    exact(out["bc"], [99999])
    exact(out["d2"], np.array([1e30]) * 1e30)
    exact(out["df"], [1e30])


# 10. A large negative mask, one row fully masked. Wrong: NaN in row 0, the constant became -inf.
@both
def test_large_negative_mask(lower, dtype):
    result = lower(model("g (float[2,2] Q, bool[2,4] M) => (float[2,4] P) { s = MatMul(Q, K) w = Where(M, s, neg) P = Softmax<axis=-1>(w) }",
                         {"K": floats([[9, 9, 9, 9], [1, 2, 3, 4]]), "neg": np.float32(-1e9)}), dtype)
    mask = np.array([[False] * 4, [True, True, False, False]])
    close(result.run(Q=identity(2), M=mask)["P"], [[0.25] * 4, [0.268941, 0.731059, 0, 0]], STEP[dtype], 1e-6)


_LOSSY = {"W": floats([[70000, 20000, 1e-9], [0, 0, 0]]), "P": np.float32(np.inf)}
_LOSSY_TEXT = "g (float[1,2] X) => (float[1,3] Y) { m = MatMul(X, W) Y = Min(m, P) }"


# 11. Constants outside the narrow range: kept wide unless asked, and never clamped below the largest finite value.
def test_lossy_constant_keeps_its_op_wide(lower):
    result = lower(model(_LOSSY_TEXT, _LOSSY))
    assert result.type_of("MatMul") == F32
    exact(result.run(X=floats([[1, 0]]))["Y"], _LOSSY["W"][:1])
    assert "W" in json.dumps(result.report)


def test_lossy_constant_clamped_on_request(lower):
    result = lower(model(_LOSSY_TEXT, _LOSSY), lossy_constants="clamp")
    assert result.narrow("MatMul")
    out = result.run(X=floats([[1, 0]]))["Y"]
    exact(out[0, 1], 20000)
    assert out[0, 0] == 65504
    infinite = [t for t in result.model.graph.initializer if t.dims == [] and np.isposinf(numpy_helper.to_array(t).astype(np.float32))]
    assert infinite, "+inf did not stay +inf"
    assert "W" in json.dumps(result.report)


# 12. A guard that underflows. Wrong: NaN, 0/0.
@pytest.mark.parametrize("guard", ["q = Max(n, eps)", "q = Add(n, eps)"], ids=["max", "add"])
@both
def test_guard_that_underflows(lower, dtype, guard):
    eps = np.float32(1e-12 if "Max" in guard else 1e-8)
    result = lower(model(f"g (float[2,4] X) => (float[2,4] Y) {{ m = MatMul(X, I) n = ReduceL2<axes=[1], keepdims=1>(m) {guard} Y = Div(m, q) }}",
                         {"I": identity(4), "eps": eps}), dtype)
    close(result.run(X=floats([[0, 0, 0, 0], [3, 4, 0, 0]]))["Y"], [[0, 0, 0, 0], [0.6, 0.8, 0, 0]], STEP[dtype])


def _rope():
    proto = model("""g (int64 n) => (float[N,2] Y) { r = Range(zero, n, one) f = Cast<to=1>(r) u = Unsqueeze(f, ax)
        a = MatMul(u, inv) C = Cos(a) Y = MatMul(C, I) }""",
                  {"zero": np.int64(0), "one": np.int64(1), "ax": np.array([1]), "inv": floats([[1, 0.01]]), "I": identity(2)})
    node_producing(proto, "a").name, node_producing(proto, "C").name = "rope/angles", "rope/cos"
    return proto


# 13. Positions, and pinning by name. Wrong: errors up to 0.96 (f16) and 1.99 (bf16), positions above 2048 (256) collapse.
@both
def test_pinned_positions(lower, dtype):
    result = lower(_rope(), dtype, pin="rope/.*=f32")
    angles = node_producing(result.model, "a")
    assert set(result.input_types(angles)) == {F32} and result.type_of("Cos") == F32
    wide = lower.evaluate(_rope(), n=np.int64(4096))["Y"]
    close(result.run(n=np.int64(4096))["Y"], wide, absolute={"f16": 2.0**-10, "bf16": 2.0**-8}[dtype])


def test_pin_that_matches_nothing_is_an_error(lower):
    assert "nothing-like-this" in lower.fails(_rope(), pin="nothing-like-this=f32")


# 14. RMS norm in primitives. Wrong: all 0 (the mean of squares became inf) or NaN.
def test_rms_norm_in_primitives(lower):
    result = lower(model("""g (float[1,64] X) => (float[1,64] Y) { m = MatMul(X, I) p = Pow(m, two) r = ReduceMean<axes=[-1], keepdims=1>(p)
        e = Add(r, eps) s = Sqrt(e) d = Div(m, s) Y = Mul(d, gain) }""",
                         {"I": identity(64), "two": np.float32(2), "eps": np.float32(1e-6), "gain": np.ones(64, np.float32)}))
    close(result.run(X=np.full((1, 64), 8000, np.float32))["Y"], np.ones((1, 64)), absolute=2.0**-10)


def _sum_then_scale():
    return model("g (float[1000,1] X) => (float[1,1] Y) { m = MatMul(X, one) s = ReduceSum<keepdims=1>(m, ax) Y = Mul(s, k) }",
                 {"one": floats([[1]]), "ax": np.array([0]), "k": np.float32(0.001)})


# 15a. A sum over range. Wrong: inf.
def test_sum_over_the_range(lower):
    close(lower(_sum_then_scale()).run(X=np.full((1000, 1), 70, np.float32))["Y"], [[70]], STEP["f16"])


# 15b, c. Means. Wrong: 0 (the count became inf), inf (the sum did). Forced narrow they are narrow in and out, the engine accumulates wide.
@pytest.mark.parametrize("rows, value", [(65536, 1), (3, 40000)])
@pytest.mark.parametrize("forced", [False, True], ids=["denied", "forced"])
def test_mean(lower, rows, value, forced):
    source = model("g (float[N,1] X) => (float[1,1] Y) { m = MatMul(X, one) Y = ReduceMean<axes=[0], keepdims=1>(m) }", {"one": floats([[1]])})
    result = lower(source, **({"allow": "ReduceMean"} if forced else {}))
    assert result.narrow("ReduceMean") == forced
    exact(result.run(X=np.full((rows, 1), value, np.float32))["Y"], [[value]])


# 16. What a narrow product accumulates in. Wrong: 2048 (f16 accumulator), 256 or -256 (bf16 accumulator).
@both
@pytest.mark.parametrize("n", [1, 16])
def test_accumulator_of_a_narrow_product(lower, dtype, n):
    result = lower(model(f"g (float[{n},4096] A, float[4096,{n}] B) => (float[{n},{n}] Y) {{ Y = MatMul(A, B) }}"), dtype)
    assert result.narrow("MatMul")
    ones = np.ones((n, 4096), np.float32)
    exact(result.run(A=ones, B=np.ones((4096, n), np.float32))["Y"], np.full((n, n), 4096))
    column = np.array([1.0] * 2048 + [-1.0] * 2047 + [-0.5], np.float32).reshape(-1, 1)
    exact(result.run(A=ones, B=np.repeat(column, n, 1))["Y"], np.full((n, n), 0.5))


# 17. An output that is also used inside.
@both
def test_output_used_inside(lower, dtype):
    result = lower(model("g (float[2,2] X) => (float[2,2] M, float[2,2] R) { M = MatMul(X, I) R = Relu(M) }", {"I": identity(2)}), dtype)
    out = result.run(X=floats([[1, -2], [3, 4]]))
    exact(out["M"], [[1, -2], [3, 4]])
    exact(out["R"], [[1, 0], [3, 4]])


# 18a. The user's pair of casts is a rounding and stays, with and without autocast.
@pytest.mark.parametrize("optimise", ["off", "extended"])
@pytest.mark.parametrize("how", ["round trip", "f16", "bf16"])
def test_cast_pair_of_the_user_stays(lower, how, optimise):
    source = model("g (float[4] X) => (float[4] Y) { h = Cast<to=10>(X) Y = Cast<to=1>(h) }")
    result = lower.round_trip(source) if how == "round trip" else lower(source, how).model
    assert [n.op_type for n in result.graph.node] == ["Cast", "Cast"]
    feed = floats(1e-12, 123456.7, 2049, 0.1)
    exact(lower.evaluate(result, "off", X=feed)["Y"], [0, np.inf, 2048, 0.0999755859375])


# 18b. No pair of our own between two wide ops. Wrong: inf.
def test_no_cast_between_wide_ops(lower):
    result = lower(model("g (float[1,2] X) => (float Y) { m = MatMul(X, I) e = Exp(m) Y = ReduceSum<keepdims=0>(e) }", {"I": identity(2)}))
    assert result.type_of("ReduceSum") == F32
    assert node_producing(result.model, nodes(result.model, "ReduceSum")[0].input[0]).op_type == "Exp"
    close(result.run(X=floats([[12, 12]]))["Y"], 325509.6, 1e-5)


def _two_products(first, second):
    return model(f"g (float[2,2] X) => (float[2,2] Y) {{ {first} = MatMul(X, W) {second} = Softmax<axis=-1>({first}) Y = MatMul({second}, W) }}",
                 {"W": identity(2)})


# 19. Names already taken, those the pass itself gives included, and a third run.
@pytest.mark.parametrize("inner", ["taken", "own"])
def test_names_already_taken(lower, inner):
    names = ["X_fp16", "X_cast"]
    if inner == "own":
        plain = lower(_two_products("A", "B")).model
        fresh = [n for node in plain.graph.node for n in node.output if n not in ("A", "B", "Y")]
        assert fresh, "the pass gave no name of its own"
        names = [fresh[0], fresh[1] if len(fresh) > 1 else "B"]
    result = lower(_two_products(*names))
    exact(result.run(X=floats([[1, 1], [2, 2]]))["Y"], np.full((2, 2), 0.5))
    assert all(n.input[0] != n.output[0] for n in result.casts())
    assert sum(n.input[0] == "W" for n in result.casts()) <= 1


def test_a_third_run_changes_nothing(lower, pool, tmp_path):
    onnx.save(_two_products("A", "B"), tmp_path / "0.onnx")
    for step in range(3):
        run = autocast(tmp_path / f"{step}.onnx", tmp_path / f"{step + 1}.onnx")
        assert run.ok, run.describe()
    assert pool.call("judge.same_model", str(tmp_path / "1.onnx"), str(tmp_path / "3.onnx")) is None


def _three_nodes():
    return model("g (float[1,2] X) => (float Y) { [n0] m = MatMul(X, W) [n1] e = Exp(m) [n2] Y = ReduceSum<keepdims=0>(e) }",
                 {"W": floats([[70000, 1e-9], [0.1, 0.3]])})


# 20. Pin everything: the graph is what it was, bit by bit, and nothing is reported about W.
@pytest.mark.parametrize("options", [{"pin": ".*=f32"}, {"deny": "MatMul,Exp,ReduceSum"}], ids=["pin", "deny"])
def test_pin_everything(lower, options):
    result = lower(_three_nodes(), **options)
    assert not result.casts() and F16 not in result.types.values()
    weight, = result.model.graph.initializer
    assert numpy_helper.to_array(weight).tobytes() == numpy_helper.to_array(_three_nodes().graph.initializer[0]).tobytes()
    feed = floats([[1e-4, 1]])
    assert result.run(X=feed)["Y"].tobytes() == lower.evaluate(_three_nodes(), X=feed)["Y"].tobytes()


@pytest.mark.parametrize("pinned", [s for k in range(4) for s in itertools.combinations(("n0", "n1", "n2"), k)], ids=lambda s: "+".join(s) or "none")
def test_pin_any_subset(lower, pinned):
    result = lower(_three_nodes(), lossy_constants="clamp", **({"pin": f"{'|'.join(pinned)}=f32"} if pinned else {}))
    if "n0" in pinned:
        assert result.type_of("MatMul") == F32
        close(result.run(X=floats([[1e-4, 1]]))["Y"], 1213.317, 1e-4)


# 21. Branches that meet.
@both
def test_branches_that_meet(lower, dtype):
    source = model("""g (bool c, float[1,2] X) => (float[1,2] Y) { Y = If(c) <
        then_branch = t () => (float[1,2] t1) <float[2,2] W1 = {2, 0, 0, 2}> { t1 = Gemm(X, W1) },
        else_branch = e () => (float[1,2] e1) { mean = ReduceMean<axes=[1], keepdims=1>(X) e1 = Add(X, mean) }> }""")
    result = lower(source, dtype)
    gemm, = nodes(result.model, "Gemm")
    assert set(result.input_types(gemm)) == {NARROW[dtype]}
    exact(result.run(c=np.array(True), X=floats([[1, 3]]))["Y"], [[2, 6]])
    exact(result.run(c=np.array(False), X=floats([[1, 3]]))["Y"], [[3, 5]])


# 22. A value carried round a loop. Wrong: 2048 (a narrow accumulator) or a type clash.
@both
def test_loop_carried_sum(lower, dtype):
    source = model("""g (int64 n, float[1,2] acc0, float[1,2] V) => (float[1,2] Y) { t = Constant<value = bool {1}>() Y = Loop(n, t, acc0) <
        body = b (int64 i, bool cin, float[1,2] acc) => (bool cout, float[1,2] next) { cout = Identity(cin) m = MatMul(V, I) next = Add(acc, m) }> }""", {"I": identity(2)})
    result = lower(source, dtype)
    exact(result.run(n=np.int64(4096), acc0=floats([[0, 0]]), V=floats([[1, 0]]))["Y"], [[4096, 0]])


def _half_bits():
    """The same numbers in the typed field and as raw bytes."""
    f16 = [0x3800, 0xC000, 0x7BFF]
    tensors = [
        helper.make_tensor("a", F16, [3], bytes.fromhex("003800C0FF7B"), raw=True), TensorProto(name="b", data_type=F16, dims=[3], int32_data=f16),
        TensorProto(name="c", data_type=BF16, dims=[3], raw_data=bytes.fromhex("803EC0BF627F")),
        TensorProto(name="d", data_type=BF16, dims=[3], int32_data=[0x3E80, 0xBFC0, 0x7F62]),
        TensorProto(name="e", data_type=F16, dims=[3], raw_data=bytes.fromhex("01000080007C"))]
    outputs = [helper.make_tensor_value_info(f"{t.name}_out", t.data_type, [3]) for t in tensors]
    body = [helper.make_node("Identity", [t.name], [f"{t.name}_out"]) for t in tensors]
    return make_model(helper.make_graph(body, "bits", [], outputs, tensors))


# 23. Sixteen-bit numbers in the file keep every bit, through ONNX and through text.
@pytest.mark.parametrize("through", ["onnx", "text", "bytecode"])
def test_sixteen_bits_keep_every_bit(through, tmp_path):
    onnx.save(_half_bits(), tmp_path / "in.onnx")
    steps = {"onnx": [], "text": ["middle.mlir"], "bytecode": ["middle.mlirbc"]}[through]
    files = [tmp_path / "in.onnx", *(tmp_path / s for s in steps), tmp_path / "out.onnx"]
    for source, target in zip(files, files[1:]):
        run = amp_opt(source, "-o", target)
        assert run.ok, run.describe()
    import canonical
    have = {t.name: canonical.tensor_bytes(t) for t in onnx.load(files[-1]).graph.initializer}
    assert have["a"] == have["b"] == bytes.fromhex("003800C0FF7B")
    assert have["c"] == have["d"] == bytes.fromhex("803EC0BF627F")
    assert have["e"] == bytes.fromhex("01000080007C")


def _external(folder, rows=2, offset=4096):
    """MatMul(X, W) whose W lies in w.bin; the file is sparse but for its first numbers."""
    weight = TensorProto(name="W", data_type=F32, dims=[2, rows], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", str(offset)), ("length", str(8 * rows))):
        weight.external_data.add(key=key, value=value)
    with open(folder / "w.bin", "wb") as stream:
        stream.truncate(offset + 8 * rows)
        stream.seek(offset)
        stream.write(np.arange(1, 5, dtype=np.float32).tobytes())
    graph = helper.make_graph([helper.make_node("MatMul", ["X", "W"], ["Y"], name="product")], "g", [helper.make_tensor_value_info("X", F32, [1, 2])],
                              [helper.make_tensor_value_info("Y", F32, [1, rows])], [weight])
    (folder / "in.onnx").write_bytes(make_model(graph).SerializeToString())
    return folder / "in.onnx"


def test_external_data_is_lowered(lower, tmp_path):
    source = _external(tmp_path)
    (tmp_path / "out").mkdir()
    run = autocast(source, tmp_path / "out/out.onnx")
    assert run.ok, run.describe()
    result = onnx.load(tmp_path / "out/out.onnx")
    weight = next(t for t in result.graph.initializer if t.dims == [2, 2])
    want = np.arange(1, 5, dtype=np.float32).reshape(2, 2)
    exact(numpy_helper.to_array(weight), want)
    assert len(weight.raw_data) == (8 if weight.data_type == F16 else 16)
    exact(lower.evaluate(result, X=floats([[1, 1]]))["Y"], [[4, 6]])


@pytest.mark.skipif(not FULL, reason="writes more than 2 GiB; AMP_FULL=1 runs it")
def test_external_data_over_2_gib(tmp_path):
    source = _external(tmp_path, rows=(1 << 28) + 1024)
    (tmp_path / "out").mkdir()
    run = amp_opt(source, "-o", tmp_path / "out/out.onnx", timeout=600)
    assert run.ok, run.describe()
    weight, = onnx.load(tmp_path / "out/out.onnx", load_external_data=False).graph.initializer
    fields = {e.key: e.value for e in weight.external_data}
    assert int(fields["length"]) == 8 * ((1 << 28) + 1024)
    with open(tmp_path / "out" / fields["location"], "rb") as stream:
        stream.seek(int(fields.get("offset", 0)))
        exact(np.frombuffer(stream.read(16), np.float32), [1, 2, 3, 4])


# 24a. An annotation that lies about an output: repaired with a warning or refused, naming Y.
def test_output_declared_with_a_wrong_rank(lower, tmp_path):
    source = model("g (float[2,2] X) => (float Y) { Y = MatMul(X, I) }", {"I": identity(2)})
    onnx.save(source, tmp_path / "in.onnx")
    run = autocast(tmp_path / "in.onnx", tmp_path / "out.onnx")
    assert not run.signal and "Y" in run.stderr, run.describe()
    if run.ok:
        assert len(onnx.load(tmp_path / "out.onnx").graph.output[0].type.tensor_type.shape.dim) == 2
    else:
        assert run.code == 1 and not (tmp_path / "out.onnx").exists()


# 24b, c. An annotated and an unannotated inner value give the same result; N stays symbolic.
@pytest.mark.parametrize("annotated", [True, False])
def test_inner_annotation(lower, annotated):
    source = model("g (float[N,2] X) => (float[N,2] Y) { a = MatMul(X, I) Y = Relu(a) }", {"I": identity(2)})
    if annotated:
        source.graph.value_info.append(helper.make_tensor_value_info("a", F32, ["N", 2]))
    result = lower(source)
    for value in result.model.graph.value_info:
        if value.name == "a":
            assert [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim] == ["N", 2]
    for n in (1, 7):
        feed = np.arange(2 * n, dtype=np.float32).reshape(n, 2) - 3
        exact(result.run(X=feed)["Y"], np.maximum(feed, 0))
