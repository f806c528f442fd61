"""Builds the generated graphs of the benchmarks: chains, transformers, shapes of MiniLM and GPT-2, and a large MLP with external data.

Files are made once in a cache ($AMP_BENCH, default ~/.cache/amp-mlir/bench) and kept.
"""
import os
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CACHE = Path(os.environ.get("AMP_BENCH") or Path.home() / ".cache/amp-mlir/bench")
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Builder:
    """Collects nodes and initializers; node(...) gives the name of the first output."""

    def __init__(self, seed=0):
        self.nodes, self.initializers, self.rng = [], [], np.random.default_rng(seed)

    def node(self, op, *inputs, outputs=1, **attributes):
        index = len(self.nodes)
        names = [f"{op}_{index}" if i == 0 else f"{op}_{index}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"n{index}_{op}", **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, *shape, scale=None):
        scale = scale or (1.0 / np.sqrt(shape[0]) if len(shape) > 1 else 0.02)
        return self.constant((self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)))

    def constant(self, array):
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def model(self, inputs, outputs, opset=17):
        """The last node's output is renamed to the model's output."""
        for (name, *_), node in zip(outputs, self.nodes[-1:]):
            node.output[0] = name
        graph = helper.make_graph(self.nodes, "generated", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                                  [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def chain(count, extra=None):
    """MatMul, Add, Relu repeated; `extra` is an op put after every third part, so that a third of the ops can be denied by its name."""
    b = Builder()
    w, c = b.weight(8, 8), b.weight(8)
    value = "X"
    for index in range(count):
        kind = index % 3
        if kind == 0:
            value = b.node("MatMul", value, w)
        elif kind == 1:
            value = b.node(extra or "Add", value, c)
        else:
            value = b.node("Relu", value)
    return b.model([("X", F32, ["N", 8])], [("Y", F32, ["N", 8])])


def _layer_norm(b, x, width):
    """LayerNormalization spelled out in nine nodes, as exporters before opset 17 do."""
    mean = b.node("ReduceMean", x, axes=[-1])
    centred = b.node("Sub", x, mean)
    square = b.node("Pow", centred, b.two)
    variance = b.node("ReduceMean", square, axes=[-1])
    root = b.node("Sqrt", b.node("Add", variance, b.eps))
    return b.node("Add", b.node("Mul", b.node("Div", centred, root), b.weight(width)), b.weight(width))


def _gelu(b, x):
    erf = b.node("Erf", b.node("Div", x, b.root_two))
    return b.node("Mul", b.node("Mul", x, b.node("Add", erf, b.one)), b.half)


def _attention(b, x, width, heads, mask=None):
    def project():
        y = b.node("Add", b.node("MatMul", x, b.weight(width, width)), b.weight(width))
        return b.node("Transpose", b.node("Reshape", y, b.split_heads), perm=[0, 2, 1, 3])
    q, k, v = project(), b.node("Transpose", project(), perm=[0, 1, 3, 2]), project()
    scores = b.node("Div", b.node("MatMul", q, k), b.scale)
    if mask:
        scores = b.node("Add", scores, mask)
    mixed = b.node("Transpose", b.node("MatMul", b.node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    return b.node("Add", b.node("MatMul", b.node("Reshape", mixed, b.join_heads), b.weight(width, width)), b.weight(width))


def _scalars(b, width, heads):
    for name, value in (("two", 2.0), ("eps", 1e-5), ("root_two", 2.0**0.5), ("one", 1.0), ("half", 0.5), ("scale", float(np.sqrt(width // heads)))):
        setattr(b, name, b.constant(np.float32(value)))
    b.split_heads = b.constant(np.array([0, -1, heads, width // heads]))
    b.join_heads = b.constant(np.array([0, -1, width]))


def _block(b, x, width, heads, mask=None):
    x = b.node("Add", x, _attention(b, _layer_norm(b, x, width), width, heads, mask))
    hidden = b.node("Add", b.node("MatMul", _layer_norm(b, x, width), b.weight(width, 4 * width)), b.weight(4 * width))
    return b.node("Add", x, b.node("Add", b.node("MatMul", _gelu(b, hidden), b.weight(4 * width, width)), b.weight(width)))


def transformer(count, width=8, heads=2):
    """Blocks with weights of their own until there are `count` nodes."""
    b = Builder()
    _scalars(b, width, heads)
    value = "X"
    while len(b.nodes) < count:
        value = _block(b, value, width, heads)
    return b.model([("X", F32, ["B", "S", width])], [("Y", F32, ["B", "S", width])])


def language_model(layers, width, heads, vocabulary, positions, causal):
    """Token and position embeddings, blocks, a last norm and (causal) logits over the tied embedding."""
    b = Builder()
    _scalars(b, width, heads)
    table = b.weight(vocabulary, width, scale=0.02)
    length = b.node("Gather", b.node("Shape", "ids"), b.constant(np.array(1)), axis=0)
    places = b.node("Range", b.constant(np.array(0)), length, b.constant(np.array(1)))
    value = b.node("Add", b.node("Gather", table, "ids"), b.node("Gather", b.weight(positions, width, scale=0.02), places))
    mask = None
    if causal:
        row = b.node("Unsqueeze", places, b.constant(np.array([0])))
        column = b.node("Unsqueeze", places, b.constant(np.array([1])))
        mask = b.node("Where", b.node("Greater", row, column), b.constant(np.float32(-1e9)), b.constant(np.float32(0)))
    for _ in range(layers):
        value = _block(b, value, width, heads, mask)
    value = _layer_norm(b, value, width)
    if causal:
        value = b.node("MatMul", value, b.node("Transpose", table, perm=[1, 0]))
    return b.model([("ids", I64, ["B", "S"])], [("Y", F32, ["B", "S", vocabulary if causal else width])])


def mlp_external(folder, layers=10, width=8192):
    """An MLP whose weights lie in one file beside it: 10 layers of 8192 x 8192 float32 are 2.7 GB."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mlp.onnx"
    if (folder / ".complete").exists():
        return path
    b, offset = Builder(), 0
    rng = np.random.default_rng(1)
    value = "X"
    with open(folder / "mlp.data", "wb") as stream:
        for index in range(layers):
            block = (rng.standard_normal((width // 16, width), dtype=np.float32) / np.float32(np.sqrt(width)))
            tensor = TensorProto(name=f"W{index}", data_type=F32, dims=[width, width], data_location=TensorProto.EXTERNAL)
            for key, text in (("location", "mlp.data"), ("offset", str(offset)), ("length", str(4 * width * width))):
                tensor.external_data.add(key=key, value=text)
            for part in range(16):
                stream.write(np.roll(block, part, axis=1).tobytes())
            offset += 4 * width * width
            b.initializers.append(tensor)
            value = b.node("Relu", b.node("MatMul", value, f"W{index}"))
    path.write_bytes(b.model([("X", F32, ["N", width])], [("Y", F32, ["N", width])]).SerializeToString())
    (folder / ".complete").touch()
    return path


GENERATED = {
    "minilm": lambda: language_model(6, 384, 12, 30522, 512, causal=False),
    "gpt2": lambda: language_model(12, 768, 12, 50257, 1024, causal=True),
    **{f"chain-{n}": (lambda n=n: chain(n)) for n in (1000, 3000, 10000, 30000, 100000, 1000000)},
    **{f"chain-max-{n}": (lambda n=n: chain(n, "Max")) for n in (1000, 3000, 10000, 30000, 100000, 1000000)},
    **{f"transformer-{n}": (lambda n=n: transformer(n)) for n in (1000, 3000, 10000, 30000, 100000, 1000000)},
}


def path_of(name):
    """Path of a generated model, made when it is not there yet."""
    if name == "mlp":
        return mlp_external(CACHE / "mlp")
    path = CACHE / f"{name}.onnx"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        onnx.save(GENERATED[name](), part)
        part.replace(path)
    return path


if __name__ == "__main__":
    import sys
    for wanted in sys.argv[1:] or [*GENERATED, "mlp"]:
        made = path_of(wanted)
        print(f"{wanted}: {made}, {made.stat().st_size / 1e6:.1f} MB")
