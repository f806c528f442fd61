"""amp-run names the node that made the first value that was not finite."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, run_process
from runtime_artifact import AMP_RUN

BATCH = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """log(x w1 + b) w2, with Dropout: a negative sum makes a NaN in forward; a scale that is too large overflows in backward."""
    folder = tmp_path_factory.mktemp("trace")
    values = {"w1": np.full((3, 3), 0.5, np.float32), "b": np.full(3, 0.25, np.float32), "w2": np.full((3, 2), 2.0, np.float32),
              "ratio": np.float32(0.25), "yes": np.bool_(True)}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"), helper.make_node("Add", ["a", "b"], ["c"], name="sum"),
             helper.make_node("Log", ["c"], ["d"], name="log"), helper.make_node("Dropout", ["d", "ratio", "yes"], ["e"], name="drop"),
             helper.make_node("MatMul", ["e", "w2"], ["y"], name="second")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [BATCH, 2])], [numpy_helper.from_array(np.asarray(v), k) for k, v in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    for name, scale, more in (("scaled", 2.0**20, {}), ("small", 1024.0, {}), ("window", 1024.0, {"accumulate": 2})):
        config = {"loss": {"mse": {"logits": "y", "labels": "t"}}, "optimizer": {"sgd": {"lr": 0.01}}, "autocast": {"dtype": "f16", "policy": "torch-cpu"},
                  "loss_scale": {"init_scale": scale, "growth_interval": 1000}, **more}
        (folder / f"{name}.json").write_text(json.dumps(config))
        ran = run_process([ROOT / "build/bin/amp-compile", folder / "m.onnx", "--training", folder / f"{name}.json", "--trace-nonfinite", "-o", folder / name])
        assert ran.code == 0, ran.stderr
    return folder


def train(folder, step, x, *options):
    rows = len(x)
    np.savez(folder / "d.npz", x=x.astype(np.float32), t=np.full((rows, 2), 9.0, np.float32))
    (folder / "log.jsonl").unlink(missing_ok=True)
    ran = run_process([AMP_RUN, "train", folder / step, "--data", folder / "d.npz", "--log", folder / "log.jsonl", *options])
    assert ran.code == 0, ran.stderr
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()], ran.stderr


def test_forward(folder):
    x = np.ones((3 * BATCH, 3))
    x[BATCH:2 * BATCH] = -9
    rows, text = train(folder, "small", x, "--no-shuffle")
    assert [row.get("first_non_finite_op") for row in rows] == [None, "forward of 'log' (Log)", None]
    assert "and it begins in forward of 'log' (Log)" in text


def test_input(folder):
    x = np.ones((2 * BATCH, 3))
    x[BATCH + 1, 2] = np.inf
    assert [row.get("first_non_finite_op") for row in train(folder, "small", x, "--no-shuffle")[0]] == [None, "the input 'x'"]


def test_backward(folder):
    """The gradient of y is finite in float32, and becomes infinite where it is rounded to half for the product before it."""
    rows, _ = train(folder, "scaled", np.ones((8 * BATCH, 3)), "--no-shuffle")
    skipped = [row for row in rows if row["skipped"]]
    assert skipped and all(row["first_non_finite_op"].startswith("backward of '") for row in skipped)
    assert skipped[0]["first_non_finite_op"] == "backward of 'second' (cast)"


def test_the_run_is_not_changed(folder):
    """With a trace in every other step, the rows are those of a run that cannot trace."""
    ran = run_process([ROOT / "build/bin/amp-compile", folder / "m.onnx", "--training", folder / "scaled.json", "-o", folder / "plain"])
    assert ran.code == 0, ran.stderr
    x = np.random.default_rng(0).uniform(0.5, 2, (16 * BATCH, 3))
    keys = ("step", "loss", "scale", "skipped", "grad_norm", "applied")
    runs = [[[row[key] for key in keys] for row in train(folder, step, x, "--epochs", "2")[0]] for step in ("plain", "scaled")]
    assert runs[0] == runs[1] and any(row[3] for row in runs[0])


def test_window(folder):
    """With accumulation every micro batch of the update is looked into."""
    x = np.ones((6 * BATCH, 3))
    x[2 * BATCH:3 * BATCH] = -9  # all of them: Dropout drops some
    rows, _ = train(folder, "window", x, "--no-shuffle")
    assert [row.get("first_non_finite_op") for row in rows] == [None, "forward of 'log' (Log)", None]


def test_is_for_training(folder):
    ran = run_process([ROOT / "build/bin/amp-compile", folder / "m.onnx", "--inference", "--trace-nonfinite", "-o", folder / "i"])
    assert ran.code == 1 and "--trace-nonfinite is for --training" in ran.stderr
