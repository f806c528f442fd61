"""A compiled step against its own graph: the primitives, written as ONNX, in ONNX Runtime or the reference evaluator."""
import json
import subprocess

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: utils/setup --torch")

import engines  # noqa: E402
import torch_models  # noqa: E402
from harness import ROOT, amp_opt  # noqa: E402

BIN = ROOT / "build/bin"
DTYPES = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i1": np.bool_}


def _run(tool, *arguments):
    process = subprocess.run([BIN / tool, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr


def _initial_state(step):
    """What the artifact says its tensors begin with."""
    manifest = json.loads((step / "manifest.json").read_text())
    blob = (step / "init.safetensors").read_bytes()
    length = int.from_bytes(blob[:8], "little")
    header, data = json.loads(blob[8:8 + length]), blob[8 + length:]
    state = {}
    for tensor in manifest["tensors"]:
        init, dtype = tensor.get("init"), DTYPES[tensor["dtype"]]
        if isinstance(init, str):
            begin, end = header[init]["data_offsets"]
            state[tensor["name"]] = np.frombuffer(data[begin:end], dtype).reshape(tensor["shape"])
        elif init is not None:
            state[tensor["name"]] = np.full(tensor["shape"], init["value"], dtype)
    return state


def _graph_results(place, feeds):
    run = amp_opt(place / "model.onnx", f"--build-training-step=config={place}/train.json", "--lower-to-primitives",
                  "--decompose-train=to-onnx", "-o", place / "graph.onnx")
    assert run.ok, run.describe()
    model = onnx.load(place / "graph.onnx")
    try:
        return engines.run_ort(model, feeds)
    except engines.CannotRun:
        return engines.run_reference(model, feeds)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", torch_models.MODELS)
def test_step_computes_its_graph(tmp_path, name, dtype):
    if (name, dtype) == ("resnet", "f16"):
        pytest.skip("the evaluator adds up f16 convolutions in f16, and the model's normalization over 8 elements blows that up")
    module, make_batch, config = torch_models.build(name)
    inputs, labels = make_batch(np.random.default_rng(3))
    config = {**config, "accumulate": 1, "loss_scale": {"enabled": dtype == "f16", "init_scale": 256.0}}
    if dtype == "f16":
        config["autocast"] = {"dtype": "f16", "policy": "torch-cpu"}
    (tmp_path / "model.onnx").write_bytes(torch_models.export(module, inputs))
    (tmp_path / "train.json").write_text(json.dumps(config))
    np.savez(tmp_path / "d.npz", **inputs, labels=labels)
    _run("amp-compile", tmp_path / "model.onnx", "--training", tmp_path / "train.json", "-o", tmp_path / "step")
    _run("amp-run", "train", tmp_path / "step", "--data", tmp_path / "d.npz", "--steps", 1, "--no-shuffle", "--quiet", "--log",
         tmp_path / "log", "--save", tmp_path / "after.npz")
    manifest = json.loads((tmp_path / "step/manifest.json").read_text())
    assert sum(t["role"] == "parameter" for t in manifest["tensors"]) == len(list(module.parameters()))
    expected = _graph_results(tmp_path, {**_initial_state(tmp_path / "step"), **inputs, "labels": labels})
    row = json.loads((tmp_path / "log").read_text())
    limit = 1e-5 if dtype == "f32" else 1e-3
    assert row["loss"] == pytest.approx(float(expected["loss"]), rel=limit)
    assert row["grad_norm"] == pytest.approx(float(expected["grad_norm"]), rel=10 * limit)
    after = np.load(tmp_path / "after.npz")
    compared = 0
    for key in after:
        if key.startswith("model."):
            value = expected["next." + key.removeprefix("model.")]
            # Adam divides tiny gradients by their own size: what differs by rounding there moves by up to the learning rate.
            np.testing.assert_allclose(after[key], value, rtol=limit, atol=2e-3 if "adamw" in config["optimizer"] else 10 * limit)
            compared += 1
    assert compared
