"""The documentation: every link leads somewhere, the site builds, and what the tutorial on NaN says happens."""
import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, amp_opt_path

BIN = ROOT / "build/bin"


def test_links_in_markdown():
    process = subprocess.run([sys.executable, ROOT / "utils/check_links.py", "README.md", "CONTRIBUTING.md", "docs"], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize("link,broken", [("real.md#a-heading", None), ("real.md#b", "no such heading"), ("absent.md", "no such file"),
                                         ("https://example.org/x", None)])
def test_broken_links_are_found(link, broken, tmp_path):
    (tmp_path / "real.md").write_text("# A `heading`\n\n```\n[code](nowhere.md)\n```\n")
    (tmp_path / "page.md").write_text(f"See [this]({link}).\n")
    process = subprocess.run([sys.executable, ROOT / "utils/check_links.py", tmp_path], capture_output=True, text=True)
    assert process.returncode == bool(broken) and (broken or "") in process.stdout


def test_site(tmp_path):
    process = subprocess.run([ROOT / "utils/build-docs", "--check", tmp_path / "site"], capture_output=True, text=True, timeout=300)
    if process.returncode == 3:
        pytest.skip(process.stderr.strip())
    assert process.returncode == 0, process.stdout + process.stderr
    start = (tmp_path / "site/index.html").read_text()
    assert "Five minutes" in start and "tutorials/debug-nan.html" in start
    # Pages that the site has from the generators, and files that pages link to.
    assert "amp.autocast" in (tmp_path / "site/dialects/amp.html").read_text()
    assert (tmp_path / "site/files/examples/train.c").read_bytes() == (ROOT / "examples/train.c").read_bytes()


# ---- docs/tutorials/debug-nan.md ----


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """y = (x / sqrt(mean(x^2) + 1e-12)) w: a row of zeros is 0/0 once the guard is 0."""
    place = tmp_path_factory.mktemp("nan")
    nodes = [helper.make_node("Mul", ["x", "x"], ["sq"], name="norm/square"),
             helper.make_node("ReduceMean", ["sq"], ["v"], name="norm/mean", axes=[1]),
             helper.make_node("Add", ["v", "eps"], ["g"], name="norm/add"), helper.make_node("Sqrt", ["g"], ["r"], name="norm/sqrt"),
             helper.make_node("Div", ["x", "r"], ["n"], name="norm/div"), helper.make_node("MatMul", ["n", "w"], ["y"], name="head/MatMul")]
    constants = {"eps": np.float32(1e-12), "w": np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)}
    graph = helper.make_graph(nodes, "norm", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), place / "model.onnx")
    x = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)
    x[5] = 0
    np.savez(place / "d.npz", x=x, labels=np.zeros((16, 4), np.float32))
    return place


def run(*command, ok=True):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert (process.returncode == 0) == ok, process.stderr
    return process.stdout + process.stderr


def train(place, autocast):
    """Lines of the log and what was said."""
    config = {"loss": {"mse": {"logits": "y", "labels": "labels"}}, "optimizer": {"sgd": {"lr": 0.01}}, "autocast": autocast}
    (place / "train.json").write_text(json.dumps(config))
    run(BIN / "amp-compile", place / "model.onnx", "--training", place / "train.json", "--bind", "batch=16", "-o", place / "step",
        "--report", place / "compile.json")
    said = run(BIN / "amp-run", "train", place / "step", "--data", place / "d.npz", "--steps", 12, "--log", place / "log.jsonl")
    return [json.loads(line) for line in (place / "log.jsonl").read_text().splitlines()], said


FORCED = {"dtype": "f16", "allow": ["Add", "Sqrt", "Div", "ReduceMean", "Mul"]}


def test_lint_names_the_guard(model):
    said = run(amp_opt_path(), model / "model.onnx", "--amp-lint")
    assert re.search(r"'norm/add' \(Add\): 1e-12 becomes 0 in f16 and guards 'norm/sqrt' \(Sqrt\) no more", said)
    assert "[underflowing-guard]" in said


def test_forced_half_gives_nan_and_the_run_says_who(model):
    rows, said = train(model, FORCED)
    assert all(row["skipped"] and row["loss"] is None and row["first_non_finite"] == "w" for row in rows)
    assert "the first gradient that is not finite is that of 'w'" in said and "the loss is not finite" in said and "the loss scale collapses" in said


def test_the_pin_or_the_policy_mends_it(model):
    for autocast in ({"dtype": "f16"}, {**FORCED, "pin": ["norm/(add|sqrt|div)=f32"]}):
        rows, _ = train(model, autocast)
        assert not any(row["skipped"] for row in rows) and rows[-1]["loss"] < rows[0]["loss"]


def test_the_report_shows_what_was_forced(model):
    options = "dtype=f16 allow=" + ",".join(FORCED["allow"])
    run(amp_opt_path(), model / "model.onnx", f"--autocast={options}", "-o", model / "half.onnx", "--report", model / "r.json")
    rules = {row["name"]: row["rule"] for row in json.loads((model / "r.json").read_text())["ops"]}
    assert rules["norm/add"] == "constant" and rules["norm/sqrt"] == "allow" and rules["head/MatMul"] == "table"
