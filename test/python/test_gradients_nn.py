"""Gradients of layers (convolutions, pooling, norms, softmax, losses) against differences in float64 and against PyTorch."""
import dataclasses

import numpy as np
import pytest

from gradients import Case, check_against_differences, gradients, node

random = np.random.default_rng(11)


def normal(*shape):
    return random.standard_normal(shape)


def distinct(*shape):
    """Values far enough apart that a small step changes no maximum."""
    return random.permutation(np.prod(shape)).reshape(shape) / 7.0 - 3


def conv(name, x, w, bias=False, **attributes):
    inputs = {"x": normal(*x), "w": normal(*w)}
    if bias:
        inputs["b"] = normal(w[0])
    return Case(f"conv-{name}", [node("Conv", " ".join(inputs), **attributes)], inputs, ["y"])


def conv_transpose(name, x, w, bias=False, **attributes):
    inputs = {"x": normal(*x), "w": normal(*w)}
    if bias:
        inputs["b"] = normal(w[1] * attributes.get("group", 1))
    return Case(f"conv-transpose-{name}", [node("ConvTranspose", " ".join(inputs), **attributes)], inputs, ["y"])


CONVOLUTIONS = [
    conv("1d", (2, 3, 9), (4, 3, 3), bias=True, pads=[1, 1]),
    conv("1d-stride-leaves-a-rest", (2, 3, 10), (4, 3, 3), strides=[3]),
    conv("2d", (2, 3, 6, 7), (4, 3, 3, 2), bias=True),
    conv("2d-stride", (2, 3, 7, 8), (4, 3, 3, 3), strides=[2, 3], pads=[1, 1, 1, 1]),
    conv("2d-dilation", (1, 2, 9, 9), (3, 2, 3, 3), dilations=[2, 3], pads=[2, 3, 2, 3]),
    conv("2d-stride-and-dilation", (2, 2, 11, 12), (3, 2, 3, 2), strides=[2, 3], dilations=[3, 2], pads=[1, 0, 2, 1]),
    conv("2d-asymmetric-pads", (1, 2, 5, 6), (2, 2, 3, 3), pads=[0, 1, 2, 0], strides=[2, 1]),
    conv("2d-groups", (2, 6, 5, 5), (4, 3, 3, 3), group=2, bias=True, pads=[1, 1, 1, 1]),
    conv("2d-depthwise", (2, 4, 6, 5), (4, 1, 3, 3), group=4, pads=[1, 1, 1, 1], strides=[2, 2]),
    conv("2d-depthwise-multiplier", (1, 3, 5, 5), (6, 1, 3, 3), group=3),
    conv("2d-1x1", (2, 3, 4, 5), (5, 3, 1, 1), bias=True),
    conv("2d-1x1-stride", (2, 3, 5, 6), (5, 3, 1, 1), strides=[2, 2]),
    conv("2d-kernel-is-input", (2, 3, 4, 4), (5, 3, 4, 4)),
    conv("2d-same-upper", (1, 2, 7, 8), (3, 2, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    conv("2d-same-lower", (1, 2, 7, 8), (3, 2, 2, 3), auto_pad="SAME_LOWER", strides=[3, 2]),
    conv("2d-valid", (1, 2, 6, 6), (3, 2, 3, 3), auto_pad="VALID", strides=[2, 2]),
    conv("3d", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), bias=True, strides=[1, 2, 1], pads=[0, 1, 0, 1, 0, 1]),
    conv_transpose("1d", (2, 3, 5), (3, 4, 3), bias=True),
    conv_transpose("2d-stride", (2, 3, 4, 3), (3, 2, 3, 3), strides=[2, 3], pads=[1, 1, 1, 1]),
    conv_transpose("2d-output-padding", (1, 2, 3, 4), (2, 3, 3, 3), strides=[2, 2], output_padding=[1, 1]),
    conv_transpose("2d-groups", (1, 4, 3, 3), (4, 2, 3, 2), group=2, bias=True),
    conv_transpose("2d-dilation", (1, 2, 4, 4), (2, 3, 2, 2), dilations=[2, 3]),
    conv_transpose("2d-same-upper", (1, 2, 4, 3), (2, 2, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2]),
    conv_transpose("2d-output-shape", (1, 2, 3, 3), (2, 2, 3, 3), output_shape=[6, 5], strides=[2, 2]),
]


def pool(name, op_type, shape, **attributes):
    return Case(f"{op_type}-{name}", [node(op_type, "x", **attributes)], {"x": distinct(*shape)}, ["y"])


POOLS = [
    pool("1d", "MaxPool", (2, 3, 9), kernel_shape=[3], strides=[2]),
    pool("2d", "MaxPool", (2, 2, 6, 7), kernel_shape=[2, 3]),
    pool("2d-overlap", "MaxPool", (1, 2, 7, 7), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    pool("2d-dilation", "MaxPool", (1, 2, 8, 8), kernel_shape=[2, 3], dilations=[3, 2], strides=[2, 1]),
    pool("2d-ceil", "MaxPool", (1, 2, 6, 8), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    pool("2d-asymmetric-pads", "MaxPool", (1, 1, 5, 6), kernel_shape=[3, 3], pads=[0, 1, 2, 1], strides=[2, 2]),
    pool("2d-same-upper", "MaxPool", (1, 2, 7, 7), kernel_shape=[3, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
    pool("2d-same-lower", "MaxPool", (1, 2, 6, 7), kernel_shape=[2, 2], auto_pad="SAME_LOWER", strides=[1, 2]),
    pool("3d", "MaxPool", (1, 2, 4, 4, 5), kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
    pool("1d", "AveragePool", (2, 3, 9), kernel_shape=[3], strides=[2]),
    pool("2d", "AveragePool", (2, 2, 6, 7), kernel_shape=[2, 3]),
    pool("2d-pads", "AveragePool", (1, 2, 7, 6), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    pool("2d-pads-counted", "AveragePool", (1, 2, 7, 6), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1),
    pool("2d-ceil", "AveragePool", (1, 2, 6, 8), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    pool("2d-ceil-counted", "AveragePool", (1, 2, 6, 8), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1],
         count_include_pad=1),
    pool("2d-dilation", "AveragePool", (1, 2, 8, 8), kernel_shape=[2, 3], dilations=[3, 2], strides=[2, 1]),
    pool("2d-same-upper", "AveragePool", (1, 2, 7, 7), kernel_shape=[3, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
    pool("3d", "AveragePool", (1, 2, 4, 4, 5), kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
    pool("2d", "GlobalAveragePool", (2, 3, 4, 5)),
    pool("1d", "GlobalAveragePool", (2, 3, 7)),
    pool("2d", "GlobalMaxPool", (2, 3, 4, 5)),
]


def norm(name, op_type, inputs, outputs="y", **attributes):
    names = " ".join(inputs)
    wanted = [output for output in outputs.split() if output != "-"]
    return Case(f"{op_type}-{name}", [node(op_type, names, outputs, **attributes)],
                {key: normal(*value) if isinstance(value, tuple) else value for key, value in inputs.items()}, wanted)


def batch_norm(name, shape, training, **attributes):
    channels = shape[1]
    case = Case(f"BatchNormalization-{name}",
                [node("BatchNormalization", "x scale b mean var", "y running_mean running_var" if training else "y",
                      training_mode=int(training), **attributes)],
                {"x": normal(*shape), "scale": normal(channels), "b": normal(channels)}, ["y"],
                constants={"mean": normal(channels), "var": random.random(channels) + 0.5})
    return case


NORMS = [
    norm("last-axis", "LayerNormalization", {"x": (4, 6), "scale": (6,), "b": (6,)}),
    norm("without-bias", "LayerNormalization", {"x": (2, 3, 5), "scale": (5,)}),
    norm("axis-1", "LayerNormalization", {"x": (2, 3, 4), "scale": (3, 4), "b": (3, 4)}, axis=1),
    norm("axis-0", "LayerNormalization", {"x": (3, 4), "scale": (3, 4), "b": (3, 4)}, axis=0),
    norm("broadcast-scale", "LayerNormalization", {"x": (2, 3, 4), "scale": (4,), "b": (3, 1)}, axis=-2),
    norm("one-element", "LayerNormalization", {"x": (3, 1), "scale": (1,), "b": (1,)}, epsilon=0.1),
    norm("last-axis", "RMSNormalization", {"x": (4, 6), "scale": (6,)}),
    norm("axis-1", "RMSNormalization", {"x": (2, 3, 4), "scale": (3, 4)}, axis=1),
    norm("2d", "InstanceNormalization", {"x": (2, 3, 4, 5), "scale": (3,), "b": (3,)}),
    norm("1d", "InstanceNormalization", {"x": (2, 3, 7), "scale": (3,), "b": (3,)}),
    norm("2d", "GroupNormalization", {"x": (2, 6, 3, 4), "scale": (6,), "b": (6,)}, num_groups=3),
    norm("one-group", "GroupNormalization", {"x": (2, 4, 5), "scale": (4,), "b": (4,)}, num_groups=1),
    norm("group-per-channel", "GroupNormalization", {"x": (2, 3, 5), "scale": (3,), "b": (3,)}, num_groups=3),
    batch_norm("training", (4, 3, 2, 5), True),
    batch_norm("training-1d", (5, 3, 4), True, epsilon=1e-3),
    batch_norm("training-no-space", (6, 3), True),
    batch_norm("training-3d", (2, 3, 2, 3, 2), True, momentum=0.5),
    batch_norm("frozen", (4, 3, 2, 5), False),
    batch_norm("frozen-no-space", (4, 3), False),
    norm("l2", "LpNormalization", {"x": (3, 5)}),
    norm("l2-axis-0", "LpNormalization", {"x": (3, 5, 2)}, axis=0),
    norm("l1", "LpNormalization", {"x": (3, 5)}, p=1),
    norm("default-axes", "MeanVarianceNormalization", {"x": (2, 3, 4, 3)}),
    norm("axes", "MeanVarianceNormalization", {"x": (2, 3, 4)}, axes=[-1, 0]),
]

SOFTMAX = [Case(f"{op_type}-{name}", [node(op_type, "x", axis=axis)], {"x": normal(*shape) * 2}, ["y"])
           for op_type in ("Softmax", "LogSoftmax")
           for name, shape, axis in [("last", (3, 5), -1), ("first", (4, 3, 2), 0), ("middle", (2, 5, 3), 1), ("one", (3, 1), 1)]]


def labels(classes, *shape, ignored=None):
    values = random.integers(0, classes, shape)
    if ignored is not None:
        values.flat[::3] = ignored
    return values


def loss(name, op_type, classes, shape, weights=False, ignored=None, outputs="y", kind=np.int64, **attributes):
    label_shape = (shape[0], *shape[2:])
    inputs = {"x": normal(*shape), "labels": labels(classes, *label_shape, ignored=ignored).astype(kind)}
    constants = {"weights": random.random(classes) + 0.1} if weights else {}
    if ignored is not None:
        attributes["ignore_index"] = ignored
    wanted = [output for output in outputs.split() if output != "-"]
    return Case(f"{op_type}-{name}", [node(op_type, "x labels" + " weights" * weights, outputs, **attributes)], inputs, wanted,
                constants=constants)


LOSSES = [loss(f"{reduction}{name}", op_type, 5, shape, reduction=reduction, **options)
          for op_type in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
          for reduction in ("mean", "sum", "none")
          for name, shape, options in [
              ("", (6, 5), {}), ("-weights", (6, 5), {"weights": True}), ("-ignored", (7, 5), {"ignored": 2}),
              ("-weights-ignored", (7, 5), {"weights": True, "ignored": 1}), ("-2d", (2, 5, 3, 2), {}),
              ("-2d-weights-ignored", (2, 5, 3, 2), {"weights": True, "ignored": 0}),
              ("-ignored-outside", (7, 5), {"ignored": -100}), ("-i32", (4, 5), {"kind": np.int32})]]
LOSSES += [loss(f"log-prob-{reduction}", "SoftmaxCrossEntropyLoss", 5, (4, 5, 2), reduction=reduction, weights=True, outputs="y log_prob")
           for reduction in ("mean", "none")]

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(name, op_type, outputs="y h c", bias=True, lens=None, states=True, peepholes=False, time=4, batch=3, size=2, hidden=3,
              **attributes):
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    layout, gates = attributes.get("layout", 0), GATES[op_type] * hidden
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)
    inputs = {"x": normal(*((batch, time, size) if layout else (time, batch, size))), "w": normal(directions, gates, size),
              "r": normal(directions, gates, hidden)}
    if bias:
        inputs["b"] = normal(directions, 2 * gates)
    if lens:
        inputs["lens"] = np.array(lens, np.int32)
    if states:
        inputs["h0"] = normal(*state)
        if op_type == "LSTM":
            inputs["c0"] = normal(*state)
    if peepholes:
        inputs["p"] = normal(directions, 3 * hidden)
    slots = [key if key in inputs else "-" for key in ("x", "w", "r", "b", "lens", "h0", "c0", "p")]
    slots = slots[:8 if op_type == "LSTM" else 6]
    while slots[-1] == "-":
        slots.pop()
    outputs = outputs if op_type == "LSTM" else outputs.removesuffix(" c")
    return Case(f"{op_type}-{name}", [node(op_type, " ".join(slots), outputs, hidden_size=hidden, **attributes)], inputs,
                [output for output in outputs.split() if output != "-"])


RECURRENT = [recurrent(name, op_type, **options)
             for op_type, more in [("LSTM", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 1}), ("RNN", {}),
                                   ("RNN", {"activations": ["Relu"]})]
             for name, options in [(name + "".join(f"-{value}" for value in more.values()), {**options, **more}) for name, options in [
                 ("all", {}), ("plain", {"bias": False, "states": False}), ("only-last", {"outputs": "- h c"}), ("only-y", {"outputs": "y"}),
                 ("lengths", {"lens": [4, 1, 3]}), ("reverse", {"direction": "reverse"}),
                 ("reverse-lengths", {"direction": "reverse", "lens": [2, 4, 0]}), ("batch-first", {"layout": 1}), ("one-step", {"time": 1})]]]
RECURRENT += [
    recurrent("bidirectional", "LSTM", direction="bidirectional"),
    recurrent("bidirectional-batch-first-lengths", "LSTM", direction="bidirectional", layout=1, lens=[1, 4, 2]),
    recurrent("peepholes", "LSTM", peepholes=True), recurrent("peepholes-lengths", "LSTM", peepholes=True, lens=[4, 2, 3]),
    recurrent("only-cell", "LSTM", outputs="- - c"), recurrent("bidirectional", "GRU", direction="bidirectional"),
]
# Two activations, one a direction.
RECURRENT.append(recurrent("bidirectional-relu", "RNN", direction="bidirectional", activations=["Relu", "Relu"]))

def attention(name, heads=2, key_heads=2, queries=3, keys=4, size=2, value_size=3, mask=None, past=0, flat=False, lengths=None,
              outputs="y", **attributes):
    batch = 2
    inputs = {"q": normal(batch, heads, queries, size), "k": normal(batch, key_heads, keys, size),
              "v": normal(batch, key_heads, keys, value_size)}
    if flat:
        inputs = {key: value.swapaxes(1, 2).reshape(batch, value.shape[2], -1) for key, value in inputs.items()}
        attributes |= {"q_num_heads": heads, "kv_num_heads": key_heads}
    if mask is not None:
        inputs["mask"] = mask
    if past:
        inputs |= {"past_k": normal(batch, key_heads, past, size), "past_v": normal(batch, key_heads, past, value_size)}
    if lengths:
        inputs["lengths"] = np.array(lengths)
    slots = [key if key in inputs else "-" for key in ("q", "k", "v", "mask", "past_k", "past_v", "lengths")]
    while slots[-1] == "-":
        slots.pop()
    return Case(f"Attention-{name}", [node("Attention", " ".join(slots), outputs, **attributes)], inputs,
                [output for output in outputs.split() if output != "-"])


SEEN = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 1, 1]], bool)
ATTENTION = [
    attention("plain"), attention("flat", flat=True), attention("scale", scale=0.3), attention("softcap", softcap=0.7),
    attention("causal", queries=4, is_causal=1), attention("causal-wide", queries=2, keys=5, is_causal=1),
    attention("grouped", heads=6, key_heads=2), attention("one-key-head", heads=4, key_heads=1, flat=True),
    attention("mask-bool", mask=SEEN), attention("mask", mask=normal(3, 4)), attention("mask-per-head", mask=normal(2, 2, 3, 4)),
    attention("mask-of-batches", mask=normal(2, 1, 3, 4)), attention("mask-causal-grouped", heads=4, mask=normal(1, 4, 3, 4), is_causal=1),
    attention("softcap-mask-grouped", heads=4, key_heads=2, mask=normal(3, 4), softcap=1.5, scale=0.9),
    attention("past", past=2, outputs="y present_k present_v"), attention("past-causal", queries=4, past=3, is_causal=1, outputs="y pk pv"),
    attention("past-flat-grouped", heads=4, past=2, flat=True, outputs="y pk pv"), attention("one-query", queries=1, keys=1),
]


def rotary(name, shape, tables, ids=None, **attributes):
    angles = random.random(tables)
    constants = {"cos": np.cos(angles), "sin": np.sin(angles)}
    if ids is not None:
        constants["ids"] = ids
    return Case(f"RotaryEmbedding-{name}", [node("RotaryEmbedding", "x cos sin" + " ids" * (ids is not None), **attributes)],
                {"x": normal(*shape)}, ["y"], constants=constants)


IDS = np.array([[0, 1, 2], [3, 1, 0]])
ROTARY = [
    rotary("4d", (2, 2, 3, 4), (2, 3, 2)), rotary("4d-ids", (2, 2, 3, 4), (5, 2), IDS),
    rotary("interleaved", (2, 2, 3, 4), (5, 2), IDS, interleaved=1), rotary("3d", (2, 3, 8), (5, 2), IDS, num_heads=2),
    rotary("partial", (2, 2, 3, 6), (5, 2), IDS, rotary_embedding_dim=4),
]


def resize(name, shape, target, by="sizes", **attributes):
    constants = {by: np.array(target, np.int64 if by == "sizes" else np.float32)}
    return Case(f"Resize-{name}", [node("Resize", "x - - sizes" if by == "sizes" else "x - scales", **attributes)], {"x": normal(*shape)},
                ["y"], constants=constants, fixed=("scales",))


RESIZES = [
    resize("nearest-twice", (1, 2, 3, 4), (1, 2, 6, 8)), resize("nearest-scales", (1, 2, 3, 4), (1, 1, 2, 3), by="scales"),
    resize("nearest-asymmetric", (1, 2, 3, 4), (1, 2, 6, 8), coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    resize("nearest-odd", (1, 1, 5, 4), (1, 1, 7, 3)), resize("linear", (1, 2, 3, 4), (1, 2, 7, 6), mode="linear"),
    resize("linear-smaller", (1, 1, 7, 8), (1, 1, 3, 5), mode="linear"),
    resize("linear-corners", (1, 2, 3, 4), (1, 2, 6, 9), mode="linear", coordinate_transformation_mode="align_corners"),
    resize("linear-torch", (2, 1, 5), (2, 1, 8), mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
    resize("linear-antialias", (1, 1, 8, 9), (1, 1, 3, 4), mode="linear", antialias=1),
    resize("cubic", (1, 1, 5, 6), (1, 1, 8, 9), mode="cubic"),
    resize("cubic-exclude-outside", (1, 1, 5, 6), (1, 1, 8, 4), mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5),
    resize("axes", (2, 3, 4), (6,), axes=[1], mode="linear"),
]
BLOCKS = [Case(f"DepthToSpace-{mode}", [node("DepthToSpace", "x", blocksize=2, mode=mode)], {"x": normal(2, 8, 3, 2)}, ["y"])
          for mode in ("DCR", "CRD")]
BLOCKS.append(Case("SpaceToDepth", [node("SpaceToDepth", "x", blocksize=3)], {"x": normal(2, 2, 6, 3)}, ["y"]))

CASES = ATTENTION + RESIZES + BLOCKS + RECURRENT + CONVOLUTIONS + POOLS + NORMS + SOFTMAX + LOSSES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_differences(case):
    check_against_differences(case)


@pytest.mark.parametrize("case", [case for case in CASES if len(case.wrt) > 1][::3], ids=str)
def test_one_input_alone(case):
    """What is asked for does not change its value."""
    together = gradients(case)
    for name in case.wrt:
        alone = gradients(dataclasses.replace(case, wrt=[name]))
        np.testing.assert_array_equal(alone[name], together[name])


@pytest.mark.parametrize("case", ROTARY, ids=str)
def test_rotary_embedding(case):
    """The operator knows no float64; it is linear, so float32 and a large step will do."""
    check_against_differences(case, step=1.0, tolerance=1e-5, dtype=np.float32)


#: Hidden states are rounded in each step of these, and gates several times; the others round what they read and what they give.
STEPS = {"LSTM", "GRU", "RNN"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_half(case):
    """f16 gradients against float64 ones of the same rounded inputs, relative to the largest element: everything between is float32,
    so what is left are the roundings of results that backward reads (Softmax's, times a cotangent that may be larger than the
    gradient), and of the gradients."""
    found, expected = gradients(case, np.float16), gradients(case, np.float64, through=np.float16)
    bound = 2.0 ** (-7 if case.nodes[0].op_type in STEPS else -8)
    for name in case.wrt:
        assert found[name].dtype == np.float16
        error = np.abs(found[name].astype(float) - expected[name]).max()
        assert error <= bound * np.abs(expected[name]).max() + 1e-6, f"{case} d/d{name} is {error} off"
