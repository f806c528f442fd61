"""Gradients of layers against PyTorch's autograd in float64: values, ties, NaN, constant rows, rows without a label or a key."""
import numpy as np
import pytest

from gradients import Case, cotangents, gradients, node

torch = pytest.importorskip("torch", reason="PyTorch is not installed (utils/setup --torch)")
F = torch.nn.functional
random = np.random.default_rng(12)


def normal(*shape):
    return random.standard_normal(shape)


def check(case, function, tolerance=1e-10, dtype=np.float64):
    """`function` maps the case's inputs, by name, to its outputs."""
    tensors = {name: torch.tensor(value, requires_grad=name in case.wrt) for name, value in case.inputs.items()}
    outputs = function(**tensors)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    sum((output.reshape(-1) * torch.tensor(weights.reshape(-1))).sum()
        for output, weights in zip(outputs, cotangents(case, dtype).values())).backward()
    found = gradients(case, dtype)
    for name in case.wrt:
        np.testing.assert_allclose(found[name], tensors[name].grad.numpy(), rtol=tolerance, atol=tolerance, err_msg=f"{case} d/d{name}")
    return found


def one(op_type, inputs, outputs="y", constants=None, wrt=None, **attributes):
    names = " ".join([*inputs, *(constants or {})])
    return Case(op_type, [node(op_type, names, outputs, **attributes)], inputs, outputs.split(), wrt=wrt, constants=constants or {})


@pytest.mark.parametrize("stride, dilation, groups, padding", [(1, 1, 1, 0), (2, 1, 1, 1), (1, 2, 1, 2), (3, 2, 2, 1), (2, 1, 4, 1)])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_conv(spatial, stride, dilation, groups, padding):
    inputs = {"x": normal(2, 4, *[9, 8, 7][:spatial]), "w": normal(8, 4 // groups, *[3, 2, 3][:spatial]), "b": normal(8)}
    case = one("Conv", inputs, strides=[stride] * spatial, dilations=[dilation] * spatial, group=groups, pads=[padding] * 2 * spatial)
    function = [F.conv1d, F.conv2d, F.conv3d][spatial - 1]
    check(case, lambda x, w, b: function(x, w, b, stride=stride, dilation=dilation, groups=groups, padding=padding))


@pytest.mark.parametrize("stride, extra, groups, padding", [(1, 0, 1, 0), (2, 1, 1, 1), (3, 2, 2, 1), (2, 0, 4, 0)])
def test_conv_transpose(stride, extra, groups, padding):
    case = one("ConvTranspose", {"x": normal(2, 4, 5, 6), "w": normal(4, 2, 3, 2), "b": normal(2 * groups)}, strides=[stride] * 2,
               output_padding=[extra] * 2, group=groups, pads=[padding] * 4)
    check(case, lambda x, w, b: F.conv_transpose2d(x, w, b, stride=stride, output_padding=extra, groups=groups, padding=padding))


MAX_POOLS = {
    "ties": random.integers(0, 3, (2, 2, 7, 8)).astype(float), "constant": np.ones((1, 2, 7, 8)),
    # No window sees two: PyTorch takes the last NaN then, we the first.
    "nan": np.where(np.add.outer(np.arange(7) % 5 != 1, np.arange(8) % 5 != 3), random.integers(0, 4, (2, 2, 7, 8)), np.nan),
    "minus-infinity": np.where(random.random((2, 2, 7, 8)) < 0.8, -np.inf, 1.0),
}


@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize("name", MAX_POOLS)
def test_max_pool_winner(name, ceil):
    case = one("MaxPool", {"x": MAX_POOLS[name]}, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=ceil)
    # Cotangents come by MatMul: of NaN only the gradient is looked at.
    check(case, lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=bool(ceil)))


@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("ceil", [0, 1])
def test_average_pool(ceil, counts):
    case = one("AveragePool", {"x": normal(2, 2, 7, 8)}, kernel_shape=[3, 2], strides=[2, 3], pads=[1, 1, 1, 1], ceil_mode=ceil,
               count_include_pad=counts)
    check(case, lambda x: F.avg_pool2d(x, (3, 2), (2, 3), (1, 1), ceil_mode=bool(ceil), count_include_pad=bool(counts)))


def test_global_max_pool_ties():
    case = one("GlobalMaxPool", {"x": random.integers(0, 3, (2, 3, 4, 5)).astype(float)})
    check(case, lambda x: F.max_pool2d(x, (4, 5)))


@pytest.mark.parametrize("constant", [False, True])
def test_layer_norm(constant):
    x = normal(4, 3, 5)
    if constant:
        x[1] = 2.5
    case = one("LayerNormalization", {"x": x, "s": normal(3, 5), "b": normal(3, 5)}, axis=1, epsilon=1e-3)
    check(case, lambda x, s, b: F.layer_norm(x, (3, 5), s, b, eps=np.float32(1e-3)))


def test_layer_norm_statistics():
    """Mean and InvStdDev are float32 whatever x is, so this runs in float32."""
    case = one("LayerNormalization", {"x": normal(4, 6).astype(np.float32), "s": normal(6).astype(np.float32)}, outputs="y mean inv")

    def function(x, s):
        mean, inv = x.mean(-1, keepdim=True), (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
        return (x - mean) * inv * s, mean, inv

    check(case, function, tolerance=1e-5, dtype=np.float32)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_group_norm_constant_group(groups):
    x = normal(2, 4, 3, 2)
    x[0, :2] = 1
    case = one("GroupNormalization", {"x": x, "s": normal(4), "b": normal(4)}, num_groups=groups, epsilon=1e-2)
    check(case, lambda x, s, b: F.group_norm(x, groups, s, b, eps=np.float32(1e-2)))


@pytest.mark.parametrize("training", [0, 1])
def test_batch_norm(training):
    x = normal(3, 4, 2, 5)
    x[:, 1] = -1
    case = one("BatchNormalization", {"x": x, "s": normal(4), "b": normal(4)}, "y running_mean running_var" if training else "y",
               constants={"mean": normal(4), "var": random.random(4) + 0.5}, training_mode=training, epsilon=1e-2)
    case.outputs = ["y"]
    mean, var = (torch.tensor(case.constants[name]) for name in ("mean", "var"))
    check(case, lambda x, s, b: F.batch_norm(x, mean, var, s, b, training=bool(training), eps=np.float32(1e-2)))


def test_lp_normalization_of_zeros():
    """Where the norm is 0 we give 0; elsewhere what PyTorch gives."""
    x = normal(3, 5)
    x[1] = 0
    found = gradients(one("LpNormalization", {"x": x}), np.float64)["x"]
    assert np.isfinite(found).all() and not found[1].any() and found[0].any()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, -100, 2])
@pytest.mark.parametrize("shape", [(6, 5), (2, 5, 3, 2)])
def test_cross_entropy(shape, ignored, weighted, reduction):
    labels = random.integers(0, 5, (shape[0], *shape[2:]))
    attributes = {"reduction": reduction}
    if ignored is not None:
        labels.flat[::2] = ignored
        attributes["ignore_index"] = ignored
    weights = random.random(5) + 0.1 if weighted else None
    weight = torch.tensor(weights) if weighted else None
    case = one("SoftmaxCrossEntropyLoss", {"x": normal(*shape) * 3, "labels": labels}, constants={"w": weights} if weighted else {},
               **attributes)
    check(case, lambda x, labels: F.cross_entropy(x, labels, weight, reduction=reduction, ignore_index=-1 if ignored is None else ignored))
    case = one("NegativeLogLikelihoodLoss", case.inputs, constants=case.constants, **attributes)
    check(case, lambda x, labels: F.nll_loss(x, labels, weight, reduction=reduction, ignore_index=-1 if ignored is None else ignored))


@pytest.mark.parametrize("op_type", ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
def test_all_labels_ignored(op_type):
    """The mean over nothing is NaN, its gradient 0, as in PyTorch."""
    case = one(op_type, {"x": normal(3, 4), "labels": np.full(3, -1)}, ignore_index=-1)
    assert not gradients(case, np.float64)["x"].any()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_of_extremes(axis):
    x = normal(3, 4, 5) * 300
    check(one("Softmax", {"x": x}, axis=axis), lambda x: F.softmax(x, axis))
    check(one("LogSoftmax", {"x": x}, axis=axis), lambda x: F.log_softmax(x, axis))


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("heads, key_heads", [(2, 2), (6, 2), (4, 1)])
def test_attention(heads, key_heads, causal):
    case = one("Attention", {"q": normal(2, heads, 5, 4), "k": normal(2, key_heads, 5, 4), "v": normal(2, key_heads, 5, 3)},
               is_causal=causal)
    check(case, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), enable_gqa=True), tolerance=1e-6)


def test_attention_without_keys():
    """A query that sees no key gives and gets nothing, in every form of the mask."""
    seen = np.array([[True, True], [False, False], [True, False]])
    for mask in (seen, np.where(seen, 0.0, -np.inf)):
        case = one("Attention", {"q": normal(1, 2, 3, 4), "k": normal(1, 2, 2, 4), "v": normal(1, 2, 2, 4)}, constants={"mask": mask})
        found = gradients(case, np.float64)
        assert all(np.isfinite(value).all() for value in found.values())
        assert not found["q"][:, :, 1].any() and found["q"][:, :, 0].any()


def _onnx_gates(weights, op_type):
    """PyTorch's gates in ONNX's order: i f g o as i o f g; r z n as z r n."""
    parts = np.split(weights, {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type], 0)
    order = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN": [0]}[op_type]
    return np.concatenate([parts[i] for i in order])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("op_type", ["LSTM", "GRU", "RNN"])
def test_recurrent_layer(op_type, bidirectional):
    layer = getattr(torch.nn, op_type)(3, 4, bidirectional=bidirectional).double()
    suffixes = ["", "_reverse"][:1 + bidirectional]
    weight = lambda kind, suffix: getattr(layer, f"{kind}_l0{suffix}")
    stacked = lambda kind: np.stack([_onnx_gates(weight(kind, suffix).detach().numpy(), op_type) for suffix in suffixes])
    inputs = {"x": normal(5, 2, 3), "w": stacked("weight_ih"), "r": stacked("weight_hh"),
              "b": np.concatenate([stacked("bias_ih"), stacked("bias_hh")], 1)}
    attributes = {"hidden_size": 4, "direction": "bidirectional" if bidirectional else "forward"}
    if op_type == "GRU":
        attributes["linear_before_reset"] = 1
    case = one(op_type, inputs, **attributes)
    x = torch.tensor(inputs["x"], requires_grad=True)
    y = layer(x)[0].reshape(5, 2, len(suffixes), 4).transpose(1, 2)
    (y.reshape(-1) * torch.tensor(cotangents(case)["y"].reshape(-1))).sum().backward()
    found = gradients(case, np.float64)
    np.testing.assert_allclose(found["x"], x.grad.numpy(), atol=1e-12)
    for direction, suffix in enumerate(suffixes):
        gradient = lambda kind: _onnx_gates(weight(kind, suffix).grad.numpy(), op_type)
        np.testing.assert_allclose(found["w"][direction], gradient("weight_ih"), atol=1e-12)
        np.testing.assert_allclose(found["r"][direction], gradient("weight_hh"), atol=1e-12)
        np.testing.assert_allclose(found["b"][direction], np.concatenate([gradient("bias_ih"), gradient("bias_hh")]), atol=1e-12)


@pytest.mark.parametrize("mode, options, attributes", [
    ("nearest", {}, {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    ("bilinear", {"align_corners": True}, {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
    ("bilinear", {"align_corners": False}, {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}),
    ("bicubic", {"align_corners": False}, {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"}),
])
@pytest.mark.parametrize("size", [(6, 8), (5, 7), (2, 3)])
def test_resize(size, mode, options, attributes):
    case = Case("Resize", [node("Resize", "x - - sizes", **attributes)], {"x": normal(1, 2, 3, 4)}, ["y"],
                constants={"sizes": np.array([1, 2, *size])})
    check(case, lambda x: F.interpolate(x, size=size, mode=mode, **options))


@pytest.mark.parametrize("factor", [2, 3])
def test_pixel_shuffle(factor):
    case = one("DepthToSpace", {"x": normal(2, 2 * factor * factor, 3, 4)}, blocksize=factor, mode="CRD")
    check(case, lambda x: F.pixel_shuffle(x, factor))
