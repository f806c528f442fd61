"""What converters of other systems are tested for, as small graphs with the property that must hold: painting, slots, control flow.

Counts of Casts are those of the result: weights are converted in the file and take none.
"""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from small import BF16, F16, F32, NARROW, STEP, close, exact, floats, identity, make_model, model, node_producing, nodes, same_nodes

both = pytest.mark.parametrize("dtype", ["f16", "bf16"])
RNG = np.random.default_rng(5)
W8 = (RNG.standard_normal((8, 8)) / 3).astype(np.float32)


def chain(*ops, width=8, weights=None, opset=17):
    """X -> op -> ... -> Y. "MatMul" multiplies by a weight, every other name is a unary op as written, e.g. "Softmax<axis=-1>"."""
    body, value, inits = [], "X", {}
    for index, op in enumerate(ops):
        out = "Y" if index + 1 == len(ops) else f"v{index}"
        if op == "MatMul":
            inits[f"w{index}"] = W8 if weights is None else weights
            body.append(f"{out} = MatMul({value}, w{index})")
        else:
            body.append(f"{out} = {op}({value})")
        value = out
    return model(f"g (float[4,{width}] X) => (float[4,{width}] Y) {{ {' '.join(body)} }}", inits, opset=opset)


X48 = RNG.standard_normal((4, 8)).astype(np.float32)


def agrees(lower, source, result, dtype, factor=4.0, **feeds):
    """The converted model is within `factor` type steps of the largest float32 output."""
    want, have = lower.evaluate(source, **feeds), result.run(**feeds)
    for name in want:
        scale = float(np.max(np.abs(want[name]))) if want[name].size else 0.0
        close(have[name], want[name], absolute=factor * STEP[dtype] * scale)


# ---- painting -------------------------------------------------------------------------------------------------------------

@both
def test_no_narrow_op_leaves_the_graph(lower, dtype):
    source = chain("Relu", "Exp", "Neg")
    same_nodes(lower(source, dtype).model, source)


@pytest.mark.parametrize("elem", [F16, TensorProto.DOUBLE], ids=["already half", "double"])
def test_other_types_are_left_alone(lower, elem):
    array = W8.astype(helper.tensor_dtype_to_np_dtype(elem))
    graph = helper.make_graph([helper.make_node("MatMul", ["X", "W"], ["m"]), helper.make_node("Relu", ["m"], ["Y"])], "g",
                              [helper.make_tensor_value_info("X", elem, [4, 8])], [helper.make_tensor_value_info("Y", elem, [4, 8])],
                              [numpy_helper.from_array(array, "W")])
    source = make_model(graph)
    same_nodes(lower(source, "f16").model, source)


@pytest.mark.parametrize("ops, casts", [
    (("Exp", "Relu", "MatMul", "Relu", "MatMul", "Exp"), 2),  # only what lies between the products is narrow
    (("MatMul", "Relu", "MatMul"), 2),
    (("MatMul", "Transpose<perm=[0,1]>", "Relu", "MatMul"), 2),
    (("MatMul", "Softmax<axis=-1>"), 2),  # no cast down and up between them
    (("MatMul", "Exp", "MatMul"), 4),
    (("MatMul",), 2),
    (("Relu", "MatMul", "Relu"), 2),
    (("Identity", "MatMul", "Identity"), 2)], ids=lambda v: "-".join(o.split("<")[0] for o in v) if isinstance(v, tuple) else str(v))
@both
def test_chain(lower, dtype, ops, casts):
    source = chain(*ops)
    result = lower(source, dtype)
    assert len(result.casts()) == casts
    assert all(result.types[n.input[0]] == NARROW[dtype] for n in nodes(result.model, "MatMul"))
    agrees(lower, source, result, dtype, 8.0, X=X48 * 0.5)


@both
def test_two_dynamic_operands(lower, dtype):
    result = lower(model("g (float[2,4,8] A, float[2,8,4] B) => (float[2,4,4] Y) { Y = MatMul(A, B) }"), dtype)
    assert len(result.casts()) == 3


@both
def test_shared_branch_is_cast_once(lower, dtype):
    source = model("g (float[4,8] X) => (float[4,8] Y) { a = MatMul(X, W) b = MatMul(X, V) s = Add(a, b) Y = MatMul(s, W) }", {"W": W8, "V": W8.T.copy()})
    result = lower(source, dtype)
    assert len(result.casts()) == 2 and result.narrow("Add")
    agrees(lower, source, result, dtype, 8.0, X=X48)


@both
def test_concat_of_narrow_paths(lower, dtype):
    source = model("g (float[4,8] X) => (float[4,8] Y) { a = MatMul(X, W) b = MatMul(X, V) r = Relu(b) c = Concat<axis=1>(a, r) Y = MatMul(c, U) }",
                   {"W": W8, "V": W8.T.copy(), "U": np.vstack([W8, W8])})
    result = lower(source, dtype)
    assert result.narrow("Concat") and len(result.casts()) == 2


@both
def test_split_between_products(lower, dtype):
    source = model("g (float[4,8] X) => (float[4,4] Y) { a = MatMul(X, W) p, q = Split<axis=1>(a, n) s = Add(p, q) Y = MatMul(s, V) }",
                   {"W": W8, "V": W8[:4, :4].copy(), "n": np.array([4, 4])})
    result = lower(source, dtype)
    assert result.narrow("Split") and len(result.casts()) == 2


def _conv_net(middle, opset):
    k = (RNG.standard_normal((4, 4, 3, 3)) / 6).astype(np.float32)
    inits = {"k": k, "s": floats(1, 2, 1, 1), "b": floats(0, 0, 1, 0), "m": floats(0, 1, 0, 0), "v": floats(1, 4, 1, 1)}
    return model(f"g (float[1,4,8,8] X) => (float[1,4,4,4] Y) {{ a = Conv(X, k) c = {middle} Y = Conv(c, k) }}", inits, opset=opset)


@pytest.mark.parametrize("middle", ["BatchNormalization(a, s, b, m, v)", "AveragePool<kernel_shape=[1,1]>(a)", "Relu(a)"], ids=["batch norm", "pool", "relu"])
@both
def test_between_convolutions(lower, dtype, middle):
    source = _conv_net(middle, 15)
    for node in source.graph.node:
        if node.op_type == "Conv":
            node.attribute.append(helper.make_attribute("pads", [0, 0, 0, 0]))
    result = lower(source, dtype)
    assert len(result.casts()) == 2
    assert all(result.types[n.input[0]] == NARROW[dtype] for n in nodes(result.model, "Conv"))
    agrees(lower, source, result, dtype, 8.0, X=RNG.standard_normal((1, 4, 8, 8)).astype(np.float32))


UNARY = {"Elu": 4, "Erf": 4, "Exp": 8, "Log": 8, "LogSoftmax<axis=-1>": 8, "Reciprocal": 8, "Sigmoid": 4, "Softmax<axis=-1>": 4, "Softplus": 4, "Sqrt": 4,
         "Tanh": 4, "HardSigmoid": 4, "Softsign": 4, "LeakyRelu": 4, "Selu": 4}


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.split("<")[0])
@both
def test_unary_between_products(lower, dtype, op):
    positive = np.abs(W8) + 0.1  # Log, Sqrt and Reciprocal stay in their domain
    source = chain("MatMul", op, "MatMul", weights=positive)
    agrees(lower, source, lower(source, dtype), dtype, UNARY[op], X=np.abs(X48) + 0.1)


@pytest.mark.parametrize("dtype, narrow", [("f16", False), ("bf16", True)])
def test_clip_beyond_f16(lower, dtype, narrow):
    source = model("g (float[4,8] X) => (float[4,8] Y) { a = MatMul(X, W) c = Clip(a, lo, hi) Y = MatMul(c, W) }",
                   {"W": W8, "lo": np.float32(-128000), "hi": np.float32(128000)})
    result = lower(source, dtype)
    assert result.narrow("Clip") == narrow
    agrees(lower, source, result, dtype, 8.0, X=X48)


def test_bias_beyond_f16_keeps_its_add_wide(lower):
    source = model("g (float[4,8] X) => (float[4,8] Y) { a = MatMul(X, W) Y = Add(a, b) }", {"W": W8, "b": np.full(8, 1e5, np.float32)})
    result = lower(source)
    assert result.type_of("Add") == F32 and result.narrow("MatMul")


def test_order_of_independent_nodes_does_not_matter(lower):
    parts = ["a = MatMul(X, W)", "b = Exp(X)", "c = Relu(X)"]
    counts = set()
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        body = " ".join(parts[i] for i in order)
        result = lower(model(f"g (float[4,8] X) => (float[4,8] Y) {{ {body} d = Add(a, c) Y = Add(d, b) }}", {"W": W8}))
        counts.add((len(result.casts()), result.narrow("MatMul"), result.type_of("Exp")))
    assert len(counts) == 1


# ---- loops -----------------------------------------------------------------------------------------------------------------

def loop(before, body, after):
    """X -> before -> Loop(3, body on the carried value) -> after -> Y; a letter is the kind of op: W narrow, C follow, B wide, - none."""
    def ops(letters, value, last, tag):
        lines = []
        for index, letter in enumerate(letters):
            out = last if index + 1 == len(letters) else f"{tag}{index}"
            lines.append({"W": f"{out} = MatMul({value}, W)", "C": f"{out} = Relu({value})", "B": f"{out} = Softmax<axis=-1>({value})",
                          "-": f"{out} = Identity({value})"}[letter])
            value = out
        return " ".join(lines)
    return model(f"""g (float[4,8] X) => (float[4,8] Y) {{ {ops(before, "X", "p", "b")} n = Constant<value_int=3>() t = Constant<value = bool {{1}}>()
        q = Loop(n, t, p) < body = inner (int64 i, bool cin, float[4,8] acc) => (bool cout, float[4,8] next) {{
            cout = Identity(cin) {ops(body, "acc", "next", "i")} }}> {ops(after, "q", "Y", "a")} }}""", {"W": W8})


@pytest.mark.parametrize("letters", ["W C W", "W B W", "W CBC W", "B W B", "B WC C", "- W -", "W W W", "B CWC B", "C - C"])
@both
def test_simple_loop(lower, dtype, letters):
    source = loop(*letters.split())
    result = lower(source, dtype)
    agrees(lower, source, result, dtype, 16.0, X=X48)
    if "W" in letters:
        assert any(result.types[n.input[1]] == NARROW[dtype] for n in nodes(result.model, "MatMul"))


@both
def test_loop_with_scan_output(lower, dtype):
    source = model("""g (float[4,8] X) => (float[4,8] Y, float[K,4,8] S) { n = Constant<value_int=3>() t = Constant<value = bool {1}>()
        Y, S = Loop(n, t, X) < body = inner (int64 i, bool cin, float[4,8] acc) => (bool cout, float[4,8] next, float[4,8] row) {
            cout = Identity(cin) next = MatMul(acc, W) row = Relu(next) }> }""", {"W": W8})
    agrees(lower, source, lower(source, dtype), dtype, 16.0, X=X48)


@both
def test_loop_captures_a_wide_value(lower, dtype):
    source = model("""g (float[4,8] X) => (float[4,8] Y) { e = Exp(X) n = Constant<value_int=2>() t = Constant<value = bool {1}>()
        Y = Loop(n, t, X) < body = inner (int64 i, bool cin, float[4,8] acc) => (bool cout, float[4,8] next) {
            cout = Identity(cin) m = MatMul(acc, W) next = Add(m, e) }> }""", {"W": W8})
    agrees(lower, source, lower(source, dtype), dtype, 16.0, X=X48 * 0.3)


@pytest.mark.parametrize("nested", [False, True])
@both
def test_if_with_captures(lower, dtype, nested):
    inner = "a = MatMul(p, W)" if not nested else """a = If(d) < then_branch = tt () => (float[4,8] u) { u = MatMul(p, W) },
        else_branch = ee () => (float[4,8] w) { w = Softmax<axis=-1>(p) }>"""
    source = model(f"""g (bool c, bool d, float[4,8] X) => (float[4,8] Y) {{ p = MatMul(X, W) q = If(c) <
        then_branch = t () => (float[4,8] a) {{ {inner} }}, else_branch = e () => (float[4,8] b) {{ b = Exp(p) }}> Y = MatMul(q, W) }}""", {"W": W8})
    result = lower(source, dtype)
    for c in (True, False):
        for d in (True, False):
            agrees(lower, source, result, dtype, 16.0, c=np.array(c), d=np.array(d), X=X48 * 0.3)


@both
def test_chained_ifs(lower, dtype):
    step = """{out} = If({c}) < then_branch = t{i} () => (float[4,8] a{i}) {{ a{i} = MatMul({value}, W) }},
              else_branch = e{i} () => (float[4,8] b{i}) {{ b{i} = Identity({value}) }}>"""
    text = " ".join(step.format(out=o, c="c", i=i, value=v) for i, (o, v) in enumerate((("p", "X"), ("q", "p"), ("Y", "q"))))
    source = model(f"g (bool c, float[4,8] X) => (float[4,8] Y) {{ {text} }}", {"W": W8})
    result = lower(source, dtype)
    agrees(lower, source, result, dtype, 16.0, c=np.array(True), X=X48)
    close(result.run(c=np.array(False), X=X48)["Y"], X48, STEP[dtype], 1e-6)


# ---- the ONNX side ---------------------------------------------------------------------------------------------------------

@both
def test_interface_converts_on_request(lower, tmp_path, dtype):
    source = chain("MatMul", "Relu", "MatMul")
    run, target = lower.file(source, dtype, tmp_path, keep_io_types="false")
    assert run.ok, run.describe()
    result = onnx.load(target)
    assert {v.type.tensor_type.elem_type for v in [*result.graph.input, *result.graph.output]} == {NARROW[dtype]}
    assert [v.name for v in [*result.graph.input, *result.graph.output]] == ["X", "Y"]
    assert not nodes(result, "Cast")
    onnx.checker.check_model(result, full_check=True)


def test_half_weight_in_a_bf16_graph(lower):
    half = numpy_helper.from_array(W8.astype(np.float16), "H")
    source = model("g (float[4,8] X) => (float[4,8] Y) { h = Cast<to=1>(H) a = MatMul(X, h) Y = MatMul(a, W) }", {"H": half, "W": W8})
    agrees(lower, source, lower(source, "bf16"), "bf16", 8.0, X=X48)


@both
def test_dynamic_shapes(lower, dtype):
    source = model("g (float[N,S,8] X) => (float[N,S,8] Y) { s = Shape(X) m = MatMul(X, W) r = Reshape(m, s) Y = MatMul(r, W) }", {"W": W8})
    result = lower(source, dtype)
    assert nodes(result.model, "Shape")[0].input[0] == "X"
    agrees(lower, source, result, dtype, 8.0, X=RNG.standard_normal((2, 3, 8)).astype(np.float32))


@pytest.mark.parametrize("text, want", [
    ("g (float[4] X) => (float[4] Y) { Y = Cast<to=1>(X) }", [0.1, 70000, -2, 3]),
    ("g (float[4] X) => (float16[4] Y) { Y = Cast<to=10>(X) }", np.array([0.1, np.inf, -2, 3], np.float16)),
    ("g (float[4] X) => (float[4] Y) { a = Cast<to=10>(X) b = Cast<to=1>(a) c = Cast<to=11>(b) Y = Cast<to=1>(c) }", np.array([0.1, np.inf, -2, 3], np.float16).astype(np.float32)),
], ids=["input to output", "to half output", "chain"])
def test_casts_of_the_user(lower, text, want):
    exact(lower(model(text)).run(X=floats(0.1, 70000, -2, 3))["Y"], want)


@both
def test_cast_that_defines_an_output(lower, dtype):
    source = model("g (int64[4,8] I) => (float[4,8] F, float[4,8] Y) { F = Cast<to=1>(I) Y = MatMul(F, W) }", {"W": W8})
    result = lower(source, dtype)
    ints = np.arange(32).reshape(4, 8) * 100 + 1
    exact(result.run(I=ints)["F"], ints)


@pytest.mark.parametrize("roi", ["initializer", "constant"])
def test_empty_roi(lower, roi):
    text = "r = Constant<value = float[0] {}>()" if roi == "constant" else ""
    source = model(f'g (float[1,1,2,2] X) => (float[1,1,4,4] Y) {{ {text} c = Conv(X, K) Y = Resize<mode="nearest">(c, r, S) }}',
                   {"K": floats([2.0], shape=(1, 1, 1, 1)), "S": floats([1, 1, 2, 2]), **({"r": np.zeros(0, np.float32)} if roi == "initializer" else {})}, opset=13)
    result = lower(source)
    assert result.type_of("Resize", 2) == F32
    agrees(lower, source, result, "f16", X=floats([[[[1, 2], [3, 4]]]]))


def test_resize_of_opset_10(lower):
    source = model('g (float[1,1,2,2] X) => (float[1,1,4,4] Y) { c = Conv(X, K) Y = Resize<mode="nearest">(c, S) }',
                   {"K": floats([2.0], shape=(1, 1, 1, 1)), "S": floats([1, 1, 2, 2])}, opset=10, ir=5)
    agrees(lower, source, lower(source), "f16", X=floats([[[[1, 2], [3, 4]]]]))


def test_resize_with_computed_scales(lower):
    source = model('g (float[1,1,2,2] X, float[4] s) => (float[A,B,C,D] Y) { c = Conv(X, K) t = Mul(s, two) Y = Resize<mode="nearest">(c, "", t) }',
                   {"K": floats([2.0], shape=(1, 1, 1, 1)), "two": floats([1, 1, 2, 2])})
    result = lower(source)
    assert result.type_of("Resize", 2) == F32
    agrees(lower, source, result, "f16", X=floats([[[[1, 2], [3, 4]]]]), s=floats(1, 1, 1, 1))


def test_upsample_of_opset_9(lower):
    source = model('g (float[1,1,2,2] X) => (float[1,1,4,4] Y) { c = Conv(X, K) Y = Upsample<mode="nearest">(c, S) }',
                   {"K": floats([2.0], shape=(1, 1, 1, 1)), "S": floats([1, 1, 2, 2])}, opset=9, ir=4)
    agrees(lower, source, lower(source), "f16", X=floats([[[[1, 2], [3, 4]]]]))


@both
def test_celu_is_float32_only(lower, dtype):
    source = chain("MatMul", "Celu", "MatMul")
    result = lower(source, dtype)
    assert result.type_of("Celu") == F32
    agrees(lower, source, result, dtype, 8.0, X=X48)


@both
def test_non_max_suppression_is_float32_only(lower, dtype):
    source = model("""g (float[1,4,4] B, float[1,4,4] S) => (int64[n,3] Y) { b = MatMul(B, I) s = MatMul(S, I) Y = NonMaxSuppression(b, s, k, iou, score) }""",
                   {"I": identity(4), "k": np.array([2]), "iou": floats([0.5]), "score": floats([0.1])})
    result = lower(source, dtype)
    assert {result.type_of("NonMaxSuppression", slot) for slot in (0, 1, 3, 4)} == {F32}


def test_bf16_raises_the_opset_for_conv_only(lower):
    conv = model("g (float[1,1,4,4] X) => (float[1,1,4,4] Y) { Y = Conv(X, K) }", {"K": floats([2.0], shape=(1, 1, 1, 1))}, opset=13)
    assert lower(conv, "bf16").model.opset_import[0].version >= 22
    assert lower(chain("MatMul", "Relu", opset=13), "bf16").model.opset_import[0].version == 13
    assert lower(conv, "f16").model.opset_import[0].version == 13


def test_opset_raised_for_bf16_is_told(lower):
    conv = model("g (float[1,1,4,4] X) => (float[1,1,4,4] Y) { Y = Conv(X, K) }", {"K": floats([2.0], shape=(1, 1, 1, 1))}, opset=13)
    conv.graph.node[0].name = "the-conv"
    result = lower(conv, "bf16")
    assert "the-conv" in result.stderr and "22" in result.stderr


@both
def test_top_k_with_a_computed_k(lower, dtype):
    source = model("g (float[4,8] X, int64[1] k) => (float[A,B] V, int64[A,B] I) { m = MatMul(X, W) V, I = TopK<axis=-1>(m, k) }", {"W": W8})
    result = lower(source, dtype)
    have = result.run(X=X48, k=np.array([3]))
    assert have["V"].shape == (4, 3)


@both
def test_custom_op_keeps_its_types(lower, dtype):
    source = model("g (float[4,8] X) => (float[4,8] Y) { m = MatMul(X, W) c = Relu(m) Y = MatMul(c, W) }", {"W": W8})
    source.graph.node[1].op_type, source.graph.node[1].domain = "Mystery", "some.domain"
    source.opset_import.append(helper.make_opsetid("some.domain", 1))
    source.graph.value_info.append(helper.make_tensor_value_info("c", F32, [4, 8]))
    result = lower(source, dtype)
    assert all(result.types.get(n.input[1]) == NARROW[dtype] for n in nodes(result.model, "MatMul"))
    mystery, = nodes(result.model, "Mystery")
    producer = node_producing(result.model, mystery.input[0])
    assert producer.op_type == "Cast" and helper.get_attribute_value(producer.attribute[0]) == F32
    assert "Mystery" in str(result.report)


@both
def test_initializer_of_a_blocked_and_an_unblocked_op(lower, dtype):
    source = model("g (float[4,8] X) => (float[4,8] Y, float[8,8] Z) { m = MatMul(X, W) Y = Relu(m) Z = Max(W, W) }", {"W": W8})
    result = lower(source, dtype, deny="Max")
    out = result.run(X=X48)
    exact(out["Z"], W8)


@both
def test_unnamed_nodes_and_unique_cast_names(lower, dtype):
    result = lower(model("g (float[4,8] A, float[4,8] B) => (float[4,8] Y) { a = MatMul(A, W) b = MatMul(B, W) Y = Add(a, b) }", {"W": W8}), dtype)
    names = [n.name for n in result.casts() if n.name]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("op, axis", [("LayerNormalization<axis=-1>", -1), ("LayerNormalization<axis=1>", 1)])
@both
def test_layer_normalization(lower, dtype, op, axis):
    source = model(f"g (float[4,8] X) => (float[4,8] Y) {{ a = MatMul(X, W) n = {op}(a, s, b) Y = MatMul(n, W) }}",
                   {"W": W8, "s": np.ones(8, np.float32), "b": np.zeros(8, np.float32)})
    agrees(lower, source, lower(source, dtype), dtype, 8.0, X=X48)


@pytest.mark.parametrize("eps, scale", [(1e-5, 1.0), (1e-12, 1.0), (1e-5, 200.0)])
@pytest.mark.parametrize("variant", ["plain", "bias", "near miss"])
def test_decomposed_layer_norm(lower, eps, scale, variant):
    tail = {"plain": "Y = Mul(d, g1)", "bias": "e = Mul(d, g1) Y = Add(e, b1)", "near miss": "e = Mul(d, g1) Y = Sub(e, m)"}[variant]
    source = model(f"""g (float[4,8] X) => (float[4,8] Y) {{ a = MatMul(X, W) m = ReduceMean<axes=[-1]>(a) c = Sub(a, m) p = Pow(c, two)
        v = ReduceMean<axes=[-1]>(p) ve = Add(v, eps) s = Sqrt(ve) d = Div(c, s) {tail} }}""",
                   {"W": W8 * scale, "two": np.float32(2), "eps": np.float32(eps), "g1": np.ones(8, np.float32), "b1": np.full(8, 0.5, np.float32)})
    agrees(lower, source, lower(source), "f16", 8.0, X=X48)


def test_overflowing_product_of_sums_stays_wide(lower):
    source = model("g (float[4,8] X) => (float[4,1] Y) { m = MatMul(X, W) e = Exp(m) s = ReduceSum<keepdims=1>(e, ax) t = Mul(s, s) Y = Sqrt(t) }",
                   {"W": identity(8), "ax": np.array([1])})
    agrees(lower, source, lower(source), "f16", X=np.full((4, 8), 8.0, np.float32))


# ---- constants -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("value, clamped", [(1e-10, 2.0**-24), (-1e-9, -2.0**-24), (65536.1, 65504.0), (-1e5, -65504.0)])
def test_truncation_table(lower, value, clamped):
    """A constant that f16 can't hold keeps its product float32; on request it is clamped, sign kept."""
    source = model("g (float[1,1] X) => (float[1,1] Y) { Y = MatMul(X, W) }", {"W": np.array([[value]], np.float32)})
    result = lower(source)
    assert result.type_of("MatMul") == F32
    exact(result.run(X=floats([[1]]))["Y"], [[value]])
    forced = lower(source, lossy_constants="clamp")
    have = float(forced.run(X=floats([[1]]))["Y"][0, 0])
    assert have in (clamped, 0.0 * clamped) if abs(value) < 1 else have == clamped
    assert np.signbit(have) == np.signbit(value)


@pytest.mark.parametrize("value", [70000.0, 1e-9])
def test_bf16_has_the_range(lower, value):
    source = model("g (float[1,1] X) => (float[1,1] Y) { Y = MatMul(X, W) }", {"W": np.array([[value]], np.float32)})
    result = lower(source, "bf16")
    assert result.narrow("MatMul")
    close(result.run(X=floats([[1]]))["Y"], [[value]], STEP["bf16"])


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
@both
def test_special_values_of_a_constant_survive(lower, dtype, special):
    source = model("g (float[1,1] X) => (float[1,2] Y) { Y = MatMul(X, W) }", {"W": np.array([[1.5, special]], np.float32)})
    have = lower(source, dtype).run(X=floats([[1]]))["Y"][0, 1]
    want = lower.evaluate(source, X=floats([[1]]))["Y"][0, 1]
    assert have.tobytes() == want.tobytes() or np.isnan(have) and np.isnan(want)


@pytest.mark.parametrize("guard, tiny, scale", [
    ("n = Add(m, eps)", 1e-12, 0.0), ("n = Max(m, eps)", 1e-12, 0.0), ("p = Add(m, eps) n = Sqrt(p)", 1e-12, 0.0), ("n = Add(m, eps)", 1e-4, 1.0)])
@both
def test_guarded_division(lower, dtype, guard, tiny, scale):
    """0/(0 + eps) is 0, not NaN, whatever eps becomes."""
    source = model(f"g (float[4,8] X) => (float[4,8] Y) {{ m = MatMul(X, W) {guard} Y = Div(m, n) }}", {"W": np.abs(W8), "eps": np.float32(tiny)})
    agrees(lower, source, lower(source, dtype), dtype, 8.0, X=np.abs(X48) * scale)


@pytest.mark.parametrize("text", ["e = Exp(m) Y = ReduceSum<keepdims=1>(e, ax)", "p = Pow(m, k) Y = ReduceSum<keepdims=1>(p, ax)"], ids=["exp", "negative power"])
def test_large_values_between_wide_ops(lower, text):
    source = model(f"g (float[4,8] X) => (float[4,1] Y) {{ m = MatMul(X, W) {text} }}", {"W": identity(8), "ax": np.array([1]), "k": np.float32(-1.77)})
    agrees(lower, source, lower(source), "f16", 16.0, X=np.full((4, 8), 11.5 if "Exp" in text else 1e-3, np.float32))


def test_shape_arithmetic_is_untouched(lower):
    source = model("""g (float[N,8] X) => (float[N,2,4] Y) { m = MatMul(X, W) s = Shape(m) d = Gather<axis=0>(s, zero) u = Unsqueeze(d, ax)
        c = Concat<axis=0>(u, tail) Y = Reshape(m, c) }""", {"W": W8, "zero": np.int64(0), "ax": np.array([0]), "tail": np.array([2, 4])})
    result = lower(source)
    assert len(result.casts()) == 2
    agrees(lower, source, result, "f16", 8.0, X=X48)


# ---- cast motion -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("add", [False, True], ids=["product", "product and sum"])
@pytest.mark.parametrize("inputs", [False, True], ids=["", "inputs transposed"])
@pytest.mark.parametrize("product", [False, True], ids=["", "product transposed"])
@pytest.mark.parametrize("users", ["none", "inputs", "product"])
@both
def test_cast_motion(lower, dtype, add, inputs, product, users):
    """Transposes on the way cost no Cast; the user's own Casts stay."""
    lines, a, b = [], "A", "B"
    if users == "inputs":
        lines += ["a0 = Cast<to=10>(A)", "a1 = Cast<to=1>(a0)"]
        a = "a1"
    if inputs:
        lines += [f"a2 = Transpose<perm=[1,0]>({a})", f"b2 = Transpose<perm=[1,0]>({b})"]
        a, b = "a2", "b2"
    lines.append(f"p = MatMul({a}, {b})")
    value = "p"
    if users == "product":
        lines += ["p0 = Cast<to=10>(p)", "p1 = Cast<to=1>(p0)"]
        value = "p1"
    if product:
        lines.append(f"p2 = Transpose<perm=[1,0]>({value})")
        value = "p2"
    lines.append(f"Y = Add({value}, C)" if add else f"Y = Identity({value})")
    source = model(f"g (float[8,8] A, float[8,8] B, float[8,8] C) => (float[8,8] Y) {{ {' '.join(lines)} }}")
    result = lower(source, dtype)
    assert result.types[nodes(result.model, "MatMul")[0].input[0]] == NARROW[dtype]
    assert len(result.casts()) <= 3 + (2 if users != "none" else 0)
    agrees(lower, source, result, dtype, 8.0, A=W8, B=W8.T.copy(), C=W8)


@pytest.mark.parametrize("first, second", [(1, 10), (10, 1), (10, 10), (1, 1)])
@both
def test_casts_back_to_back_keep_their_rounding(lower, dtype, first, second):
    kind = {1: "float", 10: "float16"}
    source = model(f"g (float[4] X) => ({kind[second]}[4] Y, {kind[first]}[4] Z) {{ Z = Cast<to={first}>(X) Y = Cast<to={second}>(Z) }}")
    out, want = lower(source, dtype).run(X=floats(0.1, 3, 1e-9, 2049)), lower.evaluate(source, X=floats(0.1, 3, 1e-9, 2049))
    exact(out["Y"], want["Y"])
    exact(out["Z"], want["Z"])


def test_sibling_casts_of_the_user(lower):
    source = model("g (float[4] X) => (float16[4] Y, float16[4] Z) { Y = Cast<to=10>(X) Z = Cast<to=10>(X) }")
    out = lower(source).run(X=floats(0.1, 3, 1e-9, 2049))
    exact(out["Y"], out["Z"])
