"""Data-parallel training: ranks as threads and as processes of mpirun, against one rank with the whole batch."""
import json
import os
import shutil
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT

BIN = ROOT / "build/bin"
CONFIG = {"loss": {"softmax_cross_entropy": {"logits": "y", "labels": "labels"}},
          "optimizer": {"adamw": {"lr": 0.01}}, "clip": {"norm": 1.0},
          "loss_scale": {"enabled": True, "init_scale": 1024.0, "growth_interval": 3}}
ROWS = 8  # of a batch, over all ranks


def _run(*command, ok=True, timeout=300, env=None):
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout, env=env)
    assert (process.returncode == 0) == ok, process.stderr
    return process.stderr


def _write_model(path, nodes=None, batch="batch"):
    """y = relu(x W1 + b1) W2, or what the nodes say."""
    rng = np.random.default_rng(5)
    weights = {"w1": rng.standard_normal((6, 16)) / 3, "b1": np.full(16, 0.1), "w2": rng.standard_normal((16, 3)) / 4}
    nodes = nodes or [helper.make_node("Gemm", ["x", "w1", "b1"], ["s"], name="first"), helper.make_node("Relu", ["s"], ["h"], name="relu"),
                      helper.make_node("MatMul", ["h", "w2"], ["y"], name="second")]
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    weights = {"gamma": np.ones(16), "beta": np.zeros(16), "mean": np.zeros(16), "var": np.ones(16)}
    constants += [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    constants += [numpy_helper.from_array(np.float32(0.5), "ratio"), numpy_helper.from_array(np.array(True), "training")]
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3])], [c for c in constants if c.name in used])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Place:
    """A folder with a model, and the artifacts for each number of ranks."""

    def __init__(self, path):
        self.path = path
        self.config = dict(CONFIG)
        self.is_symbolic = True
        _write_model(path / "model.onnx")
        rng = np.random.default_rng(6)
        self.data = {"x": rng.standard_normal((10 * ROWS, 6)).astype(np.float32), "labels": rng.integers(0, 3, 10 * ROWS)}

    def compile(self, ranks, *arguments, ok=True):
        (self.path / "train.json").write_text(json.dumps(self.config))
        bind = ["--bind", f"batch={ROWS // ranks}"] if self.is_symbolic else []
        return _run(BIN / "amp-compile", self.path / "model.onnx", "--training", self.path / "train.json", *bind,
                    "-o", self.path / f"step{ranks}", "--jobs=1", *(arguments or ["--data-parallel"]), ok=ok)

    def train(self, ranks, name, *arguments, how=("--ranks", None), prefix=(), ok=True, **options):
        np.savez(self.path / "d.npz", **self.data)
        how = [str(ranks) if word is None else word for word in how]
        return _run(*prefix, BIN / "amp-run", "train", self.path / f"step{ranks}", "--data", self.path / "d.npz", "--no-shuffle", "--log",
                    self.path / f"{name}.log", "--save", self.path / f"{name}.npz", *how, *arguments, ok=ok, **options)

    def log(self, name):
        return [json.loads(line) for line in (self.path / f"{name}.log").read_text().splitlines()]

    def state(self, name):
        return dict(np.load(self.path / f"{name}.npz"))


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def _assert_same_run(place, one, other, rtol):
    """The same losses and scales, and the same parameters, up to the order of sums."""
    for a, b in zip(place.log(one), place.log(other), strict=True):
        assert (a["step"], a["scale"], a["skipped"], a["applied"]) == (b["step"], b["scale"], b["skipped"], b["applied"])
        assert a["loss"] == pytest.approx(b["loss"], rel=rtol) and a["grad_norm"] == pytest.approx(b["grad_norm"], rel=10 * rtol)
    first, second = place.state(one), place.state(other)
    assert first.keys() == second.keys()
    for key in first:
        if first[key].dtype.kind == "f":
            np.testing.assert_allclose(first[key], second[key], rtol=100 * rtol, atol=1e-6, err_msg=key)


def _different(a, b, prefix=""):
    """Keys that differ in a bit, of those that hold numbers."""
    assert a.keys() == b.keys()
    return [key for key in a if key.startswith(prefix) and key != "__metadata__" and a[key].tobytes() != b[key].tobytes()]


def test_one_two_and_four_ranks_train_alike(place):
    place.compile(1)
    place.train(1, "whole", "--epochs", 2, how=())
    place.train(1, "one", "--epochs", 2)
    whole, one = place.state("whole"), place.state("one")
    assert not _different(whole, one)  # one rank is the step that is not split, bit for bit
    for ranks in (2, 4):
        place.compile(ranks)
        place.train(ranks, f"ranks{ranks}", "--epochs", 2)
        _assert_same_run(place, "whole", f"ranks{ranks}", rtol=2e-6)
    losses = [row["loss"] for row in place.log("ranks4")]
    assert len(losses) == 20 and sum(losses[10:]) < sum(losses[:10])


def test_accumulation(place):
    place.config["accumulate"] = 2
    for ranks in (1, 2):
        place.compile(ranks)
        place.train(ranks, f"ranks{ranks}", "--epochs", 1)
    assert len(place.log("ranks2")) == 5
    _assert_same_run(place, "ranks1", "ranks2", rtol=2e-6)


def test_what_overflows_on_one_rank_is_skipped_by_all(place):
    place.compile(4)
    place.data["x"][2 * ROWS + 5] = np.inf  # a row of rank 2 in the third step
    place.train(4, "before", "--steps", 2)
    place.train(4, "after", "--steps", 3)
    place.train(4, "later", "--steps", 10)
    rows = place.log("later")
    assert [row["skipped"] for row in rows] == [False, False, True] + [False] * 7
    assert rows[2]["scale"] == 512 and rows[2]["applied"] == 2 and "first_non_finite" in rows[2]
    before, after = place.state("before"), place.state("after")
    # Every rank's state was compared with rank 0's when it was saved.
    assert "optimizer.exp_avg_sq.w1" in before and not _different(before, after, "model.") and not _different(before, after, "optimizer.")
    assert np.isfinite(rows[-1]["loss"])


def test_dropout_differs_between_ranks_and_is_reproducible(place):
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["s"], name="first"), helper.make_node("Dropout", ["s", "ratio", "training"], ["h"], name="drop"),
             helper.make_node("MatMul", ["h", "w2"], ["y"], name="second")]
    _write_model(place.path / "model.onnx", nodes)
    # Both ranks see the same rows: their losses differ from one rank's by dropout alone.
    place.data = {key: np.concatenate([value[:4], value[:4]] * 2) for key, value in place.data.items()}
    place.compile(2)
    place.train(2, "a", "--steps", 2)
    place.train(2, "b", "--steps", 2)
    assert [row["loss"] for row in place.log("a")] == [row["loss"] for row in place.log("b")]
    (place.path / "step1").symlink_to("step2")
    place.train(1, "alone", "--steps", 2)
    assert place.log("alone")[0]["loss"] != place.log("a")[0]["loss"]


@pytest.mark.parametrize("guarded", [False, True])
def test_buffers_are_those_of_rank_zero(place, guarded):
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["s"], name="first"),
             helper.make_node("BatchNormalization", ["s", "gamma", "beta", "mean", "var"], ["n"], name="norm"),
             helper.make_node("MatMul", ["n", "w2"], ["y"], name="second")]
    _write_model(place.path / "model.onnx", nodes, batch=ROWS // 2)
    place.is_symbolic = False
    place.config["guard_buffers"] = guarded
    place.data["labels"][ROWS + 6] = 1
    place.data["x"][ROWS + 6] = np.inf  # a row of rank 1 in the second step
    place.compile(2)
    place.train(2, "one", "--steps", 1)
    place.train(2, "two", "--steps", 2)
    assert [row["skipped"] for row in place.log("two")] == [False, True]
    share = place.data["x"][:4] @ numpy_helper.to_array(onnx.load(place.path / "model.onnx").graph.initializer[0]) + np.float32(0.1)
    np.testing.assert_allclose(place.state("one")["model.mean"], 0.1 * share.mean(0), rtol=1e-4, atol=1e-6)
    changed = _different(place.state("one"), place.state("two"), "model.")
    assert changed == ([] if guarded else ["model.mean", "model.var"])


def test_resumes_bit_for_bit(place):
    place.compile(2)
    place.train(2, "all", "--steps", 8)
    place.train(2, "half", "--steps", 3)
    place.train(2, "rest", "--steps", 8, "--resume", place.path / "half.npz")
    assert not _different(place.state("all"), place.state("rest"))


def test_batches_are_those_of_all_ranks(place):
    place.compile(2)
    place.data = {key: value[:3 * ROWS + 5] for key, value in place.data.items()}
    errors = place.train(2, "drop", "--epochs", 1)
    assert "2 ranks, 8 rows a batch" in errors and "the last 5 are left out" in errors and len(place.log("drop")) == 3
    place.train(2, "wrap", "--epochs", 1, "--last-batch", "wrap")
    assert len(place.log("wrap")) == 4


def test_says_what_is_missing(place):
    place.compile(1, "--print-memory")
    assert "compile it with amp-compile --data-parallel" in place.train(1, "none", ok=False)
    assert "--data-parallel is for --training" in _run(BIN / "amp-compile", place.path / "model.onnx", "--inference", "--data-parallel", "-o",
                                                       place.path / "other", ok=False)
    assert "--ranks" in place.train(1, "none", how=("--ranks", "0"), ok=False)


def test_a_rank_that_fails_ends_the_others(place):
    place.compile(2)
    place.data["x"] = place.data["x"][:4]  # labels have more rows
    start = time.monotonic()
    assert "rank " in place.train(2, "bad", ok=False, timeout=60)
    assert time.monotonic() - start < 30


# Open MPI: root needs a flag, and more ranks than cores another one. Ranks on one machine need no network.
MPIRUN = shutil.which("mpirun")
MPI_ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader"}
needs_mpi = pytest.mark.skipif(not MPIRUN, reason="mpirun is not installed (Debian: openmpi-bin)")


def _mpirun(ranks):
    return [MPIRUN, "--oversubscribe", "-n", str(ranks)]


@needs_mpi
def test_processes_train_as_threads_do(place):
    place.compile(2)
    place.train(2, "threads", "--epochs", 1)
    place.train(2, "processes", "--epochs", 1, how=(), prefix=_mpirun(2), env=MPI_ENV)
    # Two numbers have one sum.
    assert not _different(place.state("threads"), place.state("processes"))
    assert len(place.log("processes")) == 10


@needs_mpi
def test_processes_skip_together(place):
    place.compile(4)
    place.data["x"][2 * ROWS + 5] = np.inf
    place.train(4, "processes", "--epochs", 1, how=(), prefix=_mpirun(4), env=MPI_ENV)
    assert [row["skipped"] for row in place.log("processes")] == [False, False, True] + [False] * 7


@needs_mpi
def test_processes_of_different_artifacts_are_refused(place):
    place.compile(2)
    place.config["optimizer"] = {"sgd": {"lr": 0.5}}
    place.compile(4)  # the same number of ranks, another program
    np.savez(place.path / "d.npz", **place.data)
    one, other = ([str(BIN / "amp-run"), "train", str(place.path / step), "--data", str(place.path / "d.npz")] for step in ("step2", "step4"))
    errors = _run(MPIRUN, "--oversubscribe", "-n", 1, *one, ":", "-n", 1, *other, ok=False, env=MPI_ENV, timeout=120)
    assert "fingerprint" in errors


@needs_mpi
def test_a_process_that_fails_ends_the_others(place):
    place.compile(2)
    np.savez(place.path / "d.npz", **place.data)
    one = [str(BIN / "amp-run"), "train", str(place.path / "step2"), "--data", str(place.path / "d.npz")]
    other = [*one[:-1], str(place.path / "missing.npz")]
    errors = _run(MPIRUN, "--oversubscribe", "-n", 1, *one, ":", "-n", 1, *other, ok=False, env=MPI_ENV, timeout=120)
    assert "missing.npz" in errors
