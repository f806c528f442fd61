"""Builds a training step as an ONNX model and calls it step after step in ONNX Runtime, as a host calls an artifact."""
import json
import re
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness import amp_opt

DTYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
LABELS = {"softmax_cross_entropy": {"logits": "logits", "labels": "labels"}}


def mlp(batch=4, sizes=(8, 16, 3), seed=0):
    """x -> MatMul, Add, Relu, MatMul, Add -> logits; parameters fc1.weight [in, out], fc1.bias, ..."""
    rng = np.random.default_rng(seed)
    nodes, inits, value = [], [], "x"
    for i, (n, m) in enumerate(zip(sizes, sizes[1:]), 1):
        inits.append(numpy_helper.from_array((rng.standard_normal((n, m)) / np.sqrt(n)).astype(np.float32), f"fc{i}.weight"))
        inits.append(numpy_helper.from_array((rng.standard_normal(m) / 4).astype(np.float32), f"fc{i}.bias"))
        last = i == len(sizes) - 1
        nodes.append(helper.make_node("MatMul", [value, f"fc{i}.weight"], [f"p{i}"], f"fc{i}"))
        nodes.append(helper.make_node("Add", [f"p{i}", f"fc{i}.bias"], ["logits" if last else f"h{i}"]))
        if not last:
            nodes.append(helper.make_node("Relu", [f"h{i}"], [f"a{i}"], f"act{i}"))
        value = f"a{i}"
    return model(nodes, inits, {"x": [batch, sizes[0]]}, {"logits": [batch, sizes[-1]]})


def model(nodes, inits, inputs, outputs):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "model", [value(*i) for i in inputs.items()], [value(*o) for o in outputs.items()], inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def parameters(proto):
    return {t.name: numpy_helper.to_array(t).copy() for t in proto.graph.initializer}


def build(proto, config, *more, output="step.mlir"):
    """Runs amp-opt on a model; returns the finished process and the bytes of what it wrote (None if nothing)."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        onnx.save(proto, folder / "model.onnx")
        (folder / "train.json").write_text(config if isinstance(config, str) else json.dumps(config))
        run = amp_opt(str(folder / "model.onnx"), f"--build-training-step=config={folder / 'train.json'}", *more, "-o", str(folder / output))
        return run, (folder / output).read_bytes() if run.ok else None


class Step:
    """One training step with its state. `step(x=..., labels=...)` returns the results by name and updates the state.

    Further passes run before the step is written as an ONNX model."""

    def __init__(self, proto, config, *passes):
        run, text = build(proto, config)
        assert run.ok, run.describe()
        self.stderr, self.text = run.stderr, text.decode()
        run, data = build(proto, config, *passes, "--decompose-train=to-onnx", output="step.onnx")
        assert run.ok, run.describe()
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(data, options)
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.state = {}
        initial = dict(re.findall(r'onnx\.name = "([^"]+)", train\.init = dense<([-+.\deE]+)>', self.text))
        weights = parameters(proto)
        for i in self.session.get_inputs():
            if i.name in weights:
                self.state[i.name] = weights[i.name]
            elif i.name in initial:
                self.state[i.name] = np.full(i.shape, float(initial[i.name]), DTYPES[i.type])

    def __call__(self, **feeds):
        wanted = {i.name for i in self.session.get_inputs()}
        feed = {k: np.asarray(v) for k, v in {**self.state, **feeds}.items() if k in wanted}
        results = dict(zip(self.outputs, self.session.run(None, feed)))
        for name, value in results.items():
            if name.startswith("next."):
                self.state[name[len("next."):]] = np.asarray(value)
        return results

    def snapshot(self):
        return {k: np.array(v) for k, v in self.state.items()}


def batches(count, batch=4, features=8, classes=3, seed=1):
    rng = np.random.default_rng(seed)
    return [{"x": rng.standard_normal((batch, features), dtype=np.float32), "labels": rng.integers(0, classes, batch)} for _ in range(count)]
