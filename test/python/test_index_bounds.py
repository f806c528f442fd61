"""Indices and class labels that are out of range are refused before a step runs, as PyTorch refuses them."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, run_process
from runtime_artifact import AMP_RUN


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables of 10 and 20 rows, each looked up by a column of its own; 3 classes."""
    folder = tmp_path_factory.mktemp("indices")
    random = np.random.default_rng(0)
    values = {"small": random.standard_normal((10, 4)).astype(np.float32), "large": random.standard_normal((20, 4)).astype(np.float32),
              "w": random.standard_normal((4, 3)).astype(np.float32), "one": np.int64(1), "from": np.array([0]), "to": np.array([1]), "axis": np.array([1])}
    nodes = [helper.make_node("Slice", ["ids", "from", "to", "axis"], ["first"]), helper.make_node("Squeeze", ["first", "axis"], ["i"]),
             helper.make_node("Gather", ["ids", "one"], ["j"], axis=1), helper.make_node("Gather", ["small", "i"], ["a"], name="small_table"),
             helper.make_node("Gather", ["large", "j"], ["b"], name="large_table"), helper.make_node("Add", ["a", "b"], ["c"]),
             helper.make_node("MatMul", ["c", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, [4, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])], [numpy_helper.from_array(np.asarray(v), k) for k, v in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    for name, more in (("plain", {}), ("ignoring", {"ignore_index": -100})):
        config = {"loss": {"softmax_cross_entropy": {"logits": "y", "labels": "labels", **more}}, "optimizer": {"sgd": {"lr": 0.1}}}
        (folder / f"{name}.json").write_text(json.dumps(config))
        ran = run_process([ROOT / "build/bin/amp-compile", folder / "m.onnx", "--training", folder / f"{name}.json", "-o", folder / name])
        assert ran.code == 0, ran.stderr
    ran = run_process([ROOT / "build/bin/amp-compile", folder / "m.onnx", "--inference", "-o", folder / "infer"])
    assert ran.code == 0, ran.stderr
    return folder


def run(folder, command, step, *options, at=None, value=0, label=0):
    ids, labels = np.zeros((8, 2), np.int64), np.zeros(8, np.int64)
    if at:
        ids[at] = value
    labels[5] = label
    np.savez(folder / "d.npz", ids=ids, labels=labels)
    return run_process([AMP_RUN, command, folder / step, "--data", folder / "d.npz", *options])


@pytest.mark.parametrize("at,value,label,complaint", [
    ((2, 0), 9, 2, None), ((2, 1), 19, 2, None), ((2, 0), -10, 0, None), ((2, 1), -20, 0, None),
    ((2, 0), 10, 0, "input 'ids' holds 10 at [2, 0], but 'small_table (Gather)' takes indices from -10 to 9"),
    ((6, 0), -11, 0, "holds -11 at [2, 0], but 'small_table (Gather)'"), ((3, 1), 20, 0, "holds 20 at [3, 1], but 'large_table (Gather)' takes indices from -20 to 19"),
    (None, 0, 3, "input 'labels' holds 3 at [1], but 'train.loss.0 (SoftmaxCrossEntropyLoss)' takes indices from 0 to 2"), (None, 0, -1, "holds -1 at [1]"),
    (None, 0, -100, "holds -100 at [1]")])
def test_training(folder, at, value, label, complaint):
    ran = run(folder, "train", "plain", "--no-shuffle", "--save", folder / "last.safetensors", at=at, value=value, label=label)
    assert (ran.code, complaint in ran.stderr if complaint else True) == (1 if complaint else 0, True), ran.stderr
    assert run(folder, "eval", "plain", at=at, value=value, label=label).code == ran.code


def test_ignored_labels(folder):
    assert run(folder, "train", "ignoring", label=-100).code == 0
    ran = run(folder, "train", "ignoring", label=-1)
    assert ran.code == 1 and "from 0 to 2, and -100 for those that are left out" in ran.stderr


def test_inference(folder):
    for value, code in ((19, 0), (20, 1)):
        assert run(folder, "infer", "infer", "-o", folder / "y.npz", at=(1, 1), value=value).code == code
