"""Gradients of layers (convolutions, pooling, norms, softmax, losses) against differences in float64 and against PyTorch."""
import numpy as np
import pytest

from gradients import Case, check_against_differences, node

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

CASES = RECURRENT + CONVOLUTIONS + POOLS + NORMS + SOFTMAX + LOSSES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_differences(case):
    check_against_differences(case)
