"""LSTM, GRU and RNN: layers and directions of one aten operator become a chain of ONNX operators."""

from ..errors import Refusal
from ..registry import rule
from .random import drop

# Where ONNX's gates stand in PyTorch's order: i f g o -> i o f c, r z n -> z r h.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


def _ordered(e, weight, kind):
    """The gates of a weight or bias in ONNX's order, with a dimension for directions in front."""
    order = _GATES[kind]
    if len(order) > 1:
        parts = e.ops("Split", weight, outputs=len(order), axis=0, num_outputs=len(order))
        weight = e.op("Concat", *[parts[i] for i in order], axis=0)
    return e.unsqueeze(weight, [0])


def _joined(e, parts, axis):
    return parts[0] if len(parts) == 1 else e.op("Concat", *parts, axis=axis)


class _Layers:
    """kind: LSTM, GRU or RNN; activation: of an RNN. Works on (length, batch, size)."""

    def __init__(self, e, kind, activation=None):
        self.e, self.kind, self.activation = e, kind, activation

    def run(self, x, states, weights, has_biases, layers, dropout, training, bidirectional, batch_first):
        e, directions = self.e, 2 if bidirectional else 1
        if x.rank != 3:
            raise Refusal("a sequence without batch dimension is not supported: give it one")
        per_direction = 4 if has_biases else 2
        if len(weights) != layers * directions * per_direction:
            raise Refusal("proj_size is not supported")
        x = e.transpose(x, [1, 0, 2]) if batch_first else x
        finals = [[] for _ in states]
        for layer in range(layers):
            first = layer * directions
            own = [weights[(first + d) * per_direction:(first + d + 1) * per_direction] for d in range(directions)]
            initial = [e.slice(state, 0, first, first + directions) for state in states] if layers > 1 else states
            x, last = self.layer(x, initial, own, has_biases)
            for kept, state in zip(finals, last):
                kept.append(state)
            if dropout and training and layer + 1 < layers:
                x = drop(e, x, dropout)
        x = e.transpose(x, [1, 0, 2]) if batch_first else x
        return [x, *(_joined(e, kept, 0) for kept in finals)]

    def layer(self, x, initial, weights, has_biases):
        e, kind, directions = self.e, self.kind, len(weights)
        w, r = (_joined(e, [_ordered(e, own[i], kind) for own in weights], 0) for i in (0, 1))
        bias = None
        if has_biases:
            bias = _joined(e, [e.op("Concat", *[_ordered(e, b, kind) for b in own[2:4]], axis=1) for own in weights], 0)
        activations = [self.activation] * directions if self.activation else None
        outputs = e.ops(kind, x, w, r, bias, None, *initial, outputs=1 + len(initial), hidden_size=weights[0][1].size(1),
                        direction="bidirectional" if directions == 2 else None, activations=activations,
                        linear_before_reset=1 if kind == "GRU" else None)
        y = outputs[0]
        if directions == 1:
            return e.squeeze(y, [1]), outputs[1:]
        hidden = weights[0][1].size(1)
        return e.reshape(e.transpose(y, [0, 2, 1, 3]), [e.dim(x, 0), e.dim(x, 1), 2 * hidden]), outputs[1:]


@rule("lstm.input")
def lstm(e, x, states, weights, has_biases, layers, dropout, training, bidirectional, batch_first):
    return _Layers(e, "LSTM").run(x, states, weights, has_biases, layers, dropout, training, bidirectional, batch_first)


@rule("gru.input")
def gru(e, x, state, weights, has_biases, layers, dropout, training, bidirectional, batch_first):
    return _Layers(e, "GRU").run(x, [state], weights, has_biases, layers, dropout, training, bidirectional, batch_first)


@rule("rnn_tanh.input")
def rnn_tanh(e, x, state, weights, has_biases, layers, dropout, training, bidirectional, batch_first):
    return _Layers(e, "RNN", "Tanh").run(x, [state], weights, has_biases, layers, dropout, training, bidirectional, batch_first)


@rule("rnn_relu.input")
def rnn_relu(e, x, state, weights, has_biases, layers, dropout, training, bidirectional, batch_first):
    return _Layers(e, "RNN", "Relu").run(x, [state], weights, has_biases, layers, dropout, training, bidirectional, batch_first)


# Single steps -------------------------------------------------------------------------------------

def _gates(e, x, state, w_x, w_h, b_x, b_h):
    return e.op("Gemm", x, w_x, b_x, transB=1), e.op("Gemm", state, w_h, b_h, transB=1)


@rule("lstm_cell")
def lstm_cell(e, x, states, w_x, w_h, b_x, b_h):
    hidden, cell = states
    left, right = _gates(e, x, hidden, w_x, w_h, b_x, b_h)
    i, f, g, o = e.ops("Split", left + right, outputs=4, axis=1, num_outputs=4)
    cell = e.op("Sigmoid", f) * cell + e.op("Sigmoid", i) * e.op("Tanh", g)
    return [e.op("Sigmoid", o) * e.op("Tanh", cell), cell]


@rule("gru_cell")
def gru_cell(e, x, hidden, w_x, w_h, b_x, b_h):
    left, right = (e.ops("Split", t, outputs=3, axis=1, num_outputs=3) for t in _gates(e, x, hidden, w_x, w_h, b_x, b_h))
    reset, update = (e.op("Sigmoid", left[i] + right[i]) for i in (0, 1))
    fresh = e.op("Tanh", left[2] + reset * right[2])
    return fresh + update * (hidden - fresh)


def _rnn_cell(kind):
    def step(e, x, hidden, w_x, w_h, b_x, b_h):
        left, right = _gates(e, x, hidden, w_x, w_h, b_x, b_h)
        return e.op(kind, left + right)
    return step


rule("rnn_tanh_cell")(_rnn_cell("Tanh"))
rule("rnn_relu_cell")(_rnn_cell("Relu"))
