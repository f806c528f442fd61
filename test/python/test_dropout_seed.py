"""Dropout's masks: the same with the same seed, others with another, and the same in the halves of a data-parallel step."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, run_process
from runtime_artifact import AMP_RUN


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Two Dropouts without names."""
    folder = tmp_path_factory.mktemp("dropout")
    values = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), "ratio": np.float32(0.5), "yes": np.bool_(True)}
    nodes = [helper.make_node("Dropout", ["x", "ratio", "yes"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["b"]),
             helper.make_node("Dropout", ["b", "ratio", "yes"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])], [numpy_helper.from_array(np.array(v), k) for k, v in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    np.savez(folder / "d.npz", x=np.ones((32, 4), np.float32), labels=np.ones((32, 3), np.float32))
    return folder


def losses(folder, seed, *options):
    config = {"loss": {"mse": {"logits": "y", "labels": "labels"}}, "optimizer": {"sgd": {"lr": 0.01}}, **({} if seed is None else {"dropout_seed": seed})}
    (folder / "t.json").write_text(json.dumps(config))
    ran = run_process([ROOT / "build/bin/amp-compile", folder / "m.onnx", "--training", folder / "t.json", "--data-parallel", "-o", folder / "step"])
    assert ran.code == 0, ran.stderr
    (folder / "log.jsonl").unlink(missing_ok=True)
    ran = run_process([AMP_RUN, "train", folder / "step", "--data", folder / "d.npz", "--no-shuffle", "--quiet", "--log", folder / "log.jsonl", *options])
    assert ran.code == 0, ran.stderr
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def test_seed(model):
    first = losses(model, None)
    assert len(set(first)) > 4, "every step has its own masks"
    assert losses(model, 0) == first
    other = losses(model, 7)
    assert losses(model, 7) == other and sum(a == b for a, b in zip(first, other)) < 3


def test_halves_draw_the_same(model):
    """One rank that runs the two halves has the masks of the whole step."""
    assert losses(model, 7, "--ranks", 1) == losses(model, 7)
