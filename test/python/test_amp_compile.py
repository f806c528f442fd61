"""The whole chain on small models: amp-compile, then amp-run, against numpy; and what either says when something is wrong."""
import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from harness import ROOT

BIN = ROOT / "build/bin"
CONFIG = {"loss": {"mse": {"logits": "y", "labels": "labels"}}, "optimizer": {"sgd": {"lr": 0.125, "momentum": 0.5}}}


def _run(tool, *arguments, ok=True):
    process = subprocess.run([BIN / tool, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert (process.returncode == 0) == ok, process.stderr
    return process.stderr + process.stdout


def _model(path, batch="batch"):
    """y = relu(x W1 + b1) W2 + b2, with a symbolic batch."""
    rng = np.random.default_rng(5)
    weights = {"w1": rng.standard_normal((6, 16)) / 3, "b1": np.full(16, 0.1), "w2": rng.standard_normal((16, 3)) / 4,
               "b2": np.zeros(3)}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["p"], name="first"), helper.make_node("Add", ["p", "b1"], ["s"]),
             helper.make_node("Relu", ["s"], ["h"]), helper.make_node("Gemm", ["h", "w2", "b2"], ["y"], name="second")]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return {name: value.astype(np.float32) for name, value in weights.items()}


def _data(path, rows=8):
    rng = np.random.default_rng(6)
    data = {"x": rng.standard_normal((rows, 6)).astype(np.float32), "labels": rng.standard_normal((rows, 3)).astype(np.float32)}
    np.savez(path, **data)
    return data


def _train_numpy(weights, data, steps, lr=0.125, momentum=0.5):
    """Losses of SGD on the mean squared error, in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    velocity = {name: np.zeros_like(value) for name, value in w.items()}
    x, t = data["x"].astype(np.float64), data["labels"].astype(np.float64)
    losses = []
    for _ in range(steps):
        s = x @ w["w1"] + w["b1"]
        h = np.maximum(s, 0)
        y = h @ w["w2"] + w["b2"]
        losses.append(np.mean((y - t) ** 2))
        g = 2 * (y - t) / t.size
        gh = (g @ w["w2"].T) * (s > 0)
        gradients = {"w1": x.T @ gh, "b1": gh.sum(0), "w2": h.T @ g, "b2": g.sum(0)}
        for name, gradient in gradients.items():
            velocity[name] = momentum * velocity[name] + gradient
            w[name] -= lr * velocity[name]
    return losses, w


@pytest.fixture
def place(tmp_path):
    _model(tmp_path / "model.onnx")
    (tmp_path / "train.json").write_text(json.dumps(CONFIG))
    return tmp_path


def _compile(place, *arguments, ok=True, bind=("--bind", "batch=8")):
    return _run("amp-compile", place / "model.onnx", "--training", place / "train.json", *bind, "-o", place / "step", *arguments,
                ok=ok)


def _log(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_trains_as_numpy_does(place):
    data = _data(place / "d.npz")
    _compile(place)
    _run("amp-run", "train", place / "step", "--data", place / "d.npz", "--epochs", 20, "--no-shuffle", "--log", place / "log")
    losses, _ = _train_numpy(_model(place / "again.onnx"), data, 20)
    np.testing.assert_allclose([row["loss"] for row in _log(place / "log")], losses, rtol=1e-5)


@pytest.mark.parametrize("dtype,limit", [("f16", 2e-2), ("bf16", 1e-1)])
def test_half_precision_follows(place, dtype, limit):
    config = {**CONFIG, "autocast": {"dtype": dtype, "policy": "torch-cpu"}}
    (place / "train.json").write_text(json.dumps(config))
    data = _data(place / "d.npz")
    _compile(place)
    _run("amp-run", "train", place / "step", "--data", place / "d.npz", "--epochs", 20, "--no-shuffle", "--log", place / "log")
    rows = _log(place / "log")
    losses, _ = _train_numpy(_model(place / "again.onnx"), data, 20)
    np.testing.assert_allclose([row["loss"] for row in rows], losses, rtol=limit)
    # f16 scales the loss unless it is said otherwise.
    assert rows[0]["scale"] == (65536 if dtype == "f16" else 1)


def test_saved_weights_are_evaluated_and_inferred(place):
    data = _data(place / "d.npz")
    _compile(place)
    _run("amp-run", "train", place / "step", "--data", place / "d.npz", "--epochs", 5, "--no-shuffle", "--save",
         place / "last.safetensors")
    losses, weights = _train_numpy(_model(place / "again.onnx"), data, 6)
    result = _run("amp-run", "eval", place / "step", "--data", place / "d.npz", "--weights", place / "last.safetensors", "--quiet")
    assert json.loads(result)["loss"] == pytest.approx(losses[5], rel=1e-5)
    _run("amp-run", "infer", place / "step", "--data", place / "d.npz", "--weights", place / "last.safetensors", "-o",
         place / "out.npz")
    _, weights = _train_numpy(_model(place / "again.onnx"), data, 5)
    expected = np.maximum(data["x"] @ weights["w1"] + weights["b1"], 0) @ weights["w2"] + weights["b2"]
    np.testing.assert_allclose(np.load(place / "out.npz")["y"], expected, rtol=1e-4, atol=1e-5)


def test_dropout_draws_anew_in_every_step_and_rests_in_evaluation(place):
    weights = np.random.default_rng(7).standard_normal((6, 64)).astype(np.float32)
    constants = {"w": weights, "ratio": np.float32(0.25), "yes": np.array(True)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Dropout", ["p", "ratio", "yes"], ["y"], name="drop")]
    graph = helper.make_graph(nodes, "drop", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 64])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), place / "model.onnx")
    (place / "train.json").write_text(json.dumps({**CONFIG, "optimizer": {"sgd": {"lr": 0.0}}}))
    x = np.random.default_rng(8).standard_normal((8, 6)).astype(np.float32)
    np.savez(place / "d.npz", x=x, labels=np.zeros((8, 64), np.float32))
    _compile(place)
    for log in ("first", "second"):
        _run("amp-run", "train", place / "step", "--data", place / "d.npz", "--epochs", 4, "--no-shuffle", "--log", place / log)
    losses = [[row["loss"] for row in _log(place / log)] for log in ("first", "second")]
    assert losses[0] == losses[1] and len(set(losses[0])) == 4
    full = np.mean((x @ weights) ** 2)
    # Kept elements are scaled by 4/3, so their squares are 4/3 of all on average; 512 elements scatter by a tenth.
    np.testing.assert_allclose(losses[0], full / 0.75, rtol=0.2)
    result = _run("amp-run", "eval", place / "step", "--data", place / "d.npz", "--quiet")
    assert json.loads(result)["loss"] == pytest.approx(full, rel=1e-5)


def test_inference_is_the_model(place):
    data = _data(place / "d.npz")
    _run("amp-compile", place / "model.onnx", "--inference", "--bind", "batch=8", "-o", place / "infer")
    _run("amp-run", "infer", place / "infer", "--data", place / "d.npz", "-o", place / "out.npz")
    expected, = ReferenceEvaluator(str(place / "model.onnx")).run(None, {"x": data["x"]})
    np.testing.assert_allclose(np.load(place / "out.npz")["y"], expected, rtol=1e-5, atol=1e-6)
    _run("amp-compile", place / "model.onnx", "--inference", "--autocast=dtype=bf16", "--bind", "batch=8", "-o", place / "narrow")
    _run("amp-run", "infer", place / "narrow", "--data", place / "d.npz", "-o", place / "narrow.npz")
    weights = _model(place / "again.onnx")
    np.savez(place / "zero.npz", **{name: np.zeros_like(value) for name, value in weights.items()})
    _run("amp-run", "infer", place / "infer", "--data", place / "d.npz", "--weights", place / "zero.npz", "-o", place / "zeros.npz")
    assert not np.load(place / "zeros.npz")["y"].any()
    narrow = np.load(place / "narrow.npz")["y"]
    np.testing.assert_allclose(narrow, expected, rtol=5e-2, atol=5e-2)
    assert np.any(narrow != expected)


def test_code_for_a_lesser_cpu_computes_the_same(place):
    data = _data(place / "d.npz")
    losses = []
    for cpu in ("native", "x86-64-v3"):
        _compile(place, "--cpu", cpu)
        manifest = json.loads((place / "step/manifest.json").read_text())
        assert ("avx512f" in manifest["target"]["features"]) <= (cpu == "native")
        _run("amp-run", "train", place / "step", "--data", place / "d.npz", "--epochs", 5, "--no-shuffle", "--log", place / "log")
        losses.append([row["loss"] for row in _log(place / "log")])
    assert losses[0] == losses[1]
    assert data


def test_report_and_graph(place):
    text = _compile(place, "--report", place / "r.json", "--emit-graph", place / "g.mlir", "--print-plan", "--print-memory")
    report = json.loads((place / "r.json").read_text())
    assert [entry["name"] for entry in report["entries"]] == ["train_step", "eval_step", "infer"]
    assert report["seconds"]["total"] > 0
    assert report["entries"][0]["plan"] in text and report["entries"][0]["memory"] in text
    # The graph of primitives compiles, too: to the same step.
    _run("amp-compile", place / "g.mlir", "-o", place / "again")
    entries = [json.loads((place / name / "manifest.json").read_text())["entries"] for name in ("step", "again")]
    assert entries[0] == entries[1]


def test_fingerprint_tells_programs_apart(place):
    def fingerprint():
        return json.loads((place / "step/manifest.json").read_text())["fingerprint"]

    _compile(place)
    first = fingerprint()
    _compile(place)
    assert fingerprint() == first
    # Other weights are the same program; another constant is another one.
    model = onnx.load(place / "model.onnx")
    for value, same in ((2.0, True), (3.0, False)):
        tensor = next(t for t in model.graph.initializer if t.name == "b1")
        tensor.CopyFrom(numpy_helper.from_array(np.full(16, value, np.float32) + np.arange(16, dtype=np.float32), "b1"))
        onnx.save(model, place / "model.onnx")
        (place / "train.json").write_text(json.dumps(CONFIG if same else {**CONFIG, "frozen": ["b1"]}))
        _compile(place)
        assert (fingerprint() == first) == same
    frozen = fingerprint()
    tensor.CopyFrom(numpy_helper.from_array(np.arange(16, dtype=np.float32), "b1"))
    onnx.save(model, place / "model.onnx")
    _compile(place)
    assert fingerprint() != frozen
    (place / "train.json").write_text(json.dumps({**CONFIG, "clip": {"norm": 1.0}}))
    _compile(place)
    assert fingerprint() not in (first, frozen)


def test_initial_config_is_a_config(place):
    _run("amp-compile", place / "model.onnx", "--init-config", "-o", place / "train.json")
    text = (place / "train.json").read_text()
    assert "//   w1: 6x16xf32" in text and "//   x: batchx6xf32" in text
    (place / "train.json").write_text(text.replace("softmax_cross_entropy", "mse"))
    _compile(place)


def test_an_input_may_take_several_rows_a_sample(place):
    """Labels of tokens, flattened: shuffling moves them with their sequence."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Reshape", ["p", "shape"], ["y"])]
    constants = {"w": np.ones((4, 2), np.float32), "shape": np.array([-1, 2])}
    graph = helper.make_graph(nodes, "tokens", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), place / "model.onnx")
    (place / "train.json").write_text(json.dumps({**CONFIG, "optimizer": {"sgd": {"lr": 0.0}}}))
    x = np.random.default_rng(9).standard_normal((16, 3, 4)).astype(np.float32)
    np.savez(place / "d.npz", x=x, labels=(x @ np.ones((4, 2), np.float32)).reshape(48, 2))
    _compile(place)
    _run("amp-run", "train", place / "step", "--data", place / "d.npz", "--epochs", 2, "--log", place / "log")
    assert [row["loss"] for row in _log(place / "log")] == pytest.approx([0] * 4, abs=1e-12)
    np.savez(place / "short.npz", x=x, labels=np.zeros((47, 2), np.float32))
    message = _run("amp-run", "train", place / "step", "--data", place / "short.npz", ok=False)
    assert "array 'labels' has 47 rows, but 'x' has 16, each of which goes with 3" in message


@pytest.mark.parametrize("bind,message", [
    (("--bind", "bacth=8"), "no input has a symbolic dimension 'bacth'; there is 'batch'"),
    ((), "symbolic dimensions are left without a size: 'batch'; bind each as name=size"),
    (("--bind", "batch=eight"), "'batch=eight' has the size 'eight', which is no number"),
])
def test_wrong_dimensions(place, bind, message):
    assert message in _compile(place, bind=bind, ok=False)
    assert not (place / "step").exists()


@pytest.mark.parametrize("change,message", [
    ({"loss": {"mse": {"logits": "z", "labels": "labels"}}}, "no value is called 'z'"),
    ({"loss": {"mse": {"logits": "y"}}}, "'loss.mse.labels': is missing"),
    ({"frozen": ["w3"]}, "the pattern 'w3' in 'frozen' matches the whole name of no initializer"),
    ({"optimiser": {}}, "'optimiser': unknown key"),
])
def test_wrong_config(place, change, message):
    (place / "train.json").write_text(json.dumps({**CONFIG, **change}))
    assert message in _compile(place, ok=False)
    assert not (place / "step").exists()


def test_wrong_arguments(place):
    model, config = place / "model.onnx", place / "train.json"
    for arguments, message in [
            ((), "which model?"), ((model,), "say with -o which folder"),
            ((model, "--training", config, "--inference", "-o", place / "s"), "exclude each other"),
            ((model, "--training", config, "--autocast=dtype=f16", "-o", place / "s"), "--autocast is for --inference"),
            ((place / "none.onnx", "--inference", "-o", place / "s"), "none.onnx: error: cannot read: No such file"),
            ((model, "--training", place / "none.json", "-o", place / "s"), "none.json"),
            ((model, "--inference", "--bind", "batch=8", "--cpu", "z80", "-o", place / "s"), "unknown processor 'z80'"),
            ((model, "--inference", "--bind", "batch=8", "--cpu", "x86-64", "-o", place / "s"), "lacks")]:
        assert message in _run("amp-compile", *arguments, ok=False)
    assert not (place / "s").exists()


def test_what_is_in_the_way_stays(place):
    folder = place / "step"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    assert "exists and is no artifact" in _compile(place, ok=False)
    assert (folder / "notes.txt").read_text() == "mine"
    (place / "file").write_text("mine")
    assert "exists and is no folder" in _run("amp-compile", place / "model.onnx", "--inference", "--bind", "batch=8", "-o",
                                             place / "file", ok=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_place(place):
    (place / "locked").mkdir(mode=0o555)
    message = _run("amp-compile", place / "model.onnx", "--inference", "--bind", "batch=8", "-o", place / "locked/step", ok=False)
    assert "Permission denied" in message


def test_full_disk_leaves_nothing(place):
    limited = f"ulimit -f 1; exec {BIN}/amp-compile {place}/model.onnx --inference --bind batch=8 -o {place}/step"
    process = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=300)
    assert process.returncode == 1 and "File too large" in process.stderr
    assert sorted(p.name for p in place.iterdir()) == ["model.onnx", "train.json"]
