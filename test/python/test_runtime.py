"""amp-run and libamp_runtime on a hand-written artifact: training against NumPy, checkpoints, the C interface."""
import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest

from runtime_artifact import (AMP_RUN, B, FINGERPRINT, LIBRARY, I, O, Step, Twin, amp_run, compile_code, initial, make_data, manifest, read_safetensors,
                              safetensors_bytes, write_artifact)

pytestmark = pytest.mark.skipif(not AMP_RUN.is_file() or not LIBRARY.is_file(), reason="amp-run is not built")


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return compile_code(tmp_path_factory.mktemp("code"))


@pytest.fixture
def step(tmp_path, code):
    return write_artifact(tmp_path / "step", code)


@pytest.fixture
def data(tmp_path):
    arrays = make_data(96)
    np.savez(tmp_path / "d.npz", **arrays)
    return tmp_path / "d.npz", arrays


def run_ok(*arguments, **options):
    run = amp_run(*arguments, **options)
    assert run.ok, run.describe()
    return run


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_time(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_train_matches_numpy(step, data, tmp_path):
    """Loss within float32's error, scale and skips exactly; a skip is forced by a scale that doubles every 7 steps."""
    path, arrays = data
    run_ok("train", step, "--data", path, "--epochs", 4, "--no-shuffle", "--log", tmp_path / "log.jsonl", "--save", tmp_path / "last.safetensors")
    rows, twin, skips = rows_of(tmp_path / "log.jsonl"), Twin(), 0
    assert len(rows) == 48
    for index, row in enumerate(rows):
        at = index % 12 * B
        want = twin.step(arrays["x"][at:at + B], arrays["y"][at:at + B])
        assert row["step"] == index + 1 and row["epoch"] == index // 12 + 1
        assert (row["scale"], row["skipped"]) == (want["scale"], want["skipped"]), index
        assert row["loss"] == pytest.approx(want["loss"], rel=1e-5)
        if want["skipped"]:
            assert row["grad_norm"] is None and row["first_non_finite"] == "w"
            skips += 1
        else:
            assert row["grad_norm"] == pytest.approx(want["grad_norm"], rel=1e-4)
    assert skips >= 2
    saved, metadata = read_safetensors(tmp_path / "last.safetensors")
    assert metadata["fingerprint"] == FINGERPRINT and json.loads(metadata["config"])["optimizer"]["sgd"]["lr"] == 0.1
    np.testing.assert_allclose(saved["model.w"], twin.w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(saved["optimizer.momentum_buffer.w"], twin.mw, rtol=1e-3, atol=1e-5)
    assert saved["scaler.scale"] == twin.scale and saved["scaler.growth_tracker"] == twin.tracker
    assert saved["train.applied_steps"] == twin.applied and saved["train.skipped"] == skips and saved["train.iteration"] == 48


@pytest.mark.parametrize("shuffle", ["--no-shuffle", "--seed=3"])
@pytest.mark.parametrize("stop", [1, 12, 17])
def test_resume_is_exact(step, data, tmp_path, shuffle, stop):
    """A run stopped in the middle of an epoch and resumed leaves the same files as one that was not, log included."""
    path, _ = data
    common = ["train", step, "--data", path]
    whole = ["--save", tmp_path / "whole.safetensors", "--log", tmp_path / "whole.jsonl"]
    parts = ["--save", tmp_path / "parts.safetensors", "--log", tmp_path / "parts.jsonl"]
    run_ok(*common, shuffle, "--steps", 40, *whole)
    run_ok(*common, shuffle, "--steps", stop, *parts)
    run_ok(*common, "--resume", tmp_path / "parts.safetensors", "--steps", 40, *parts)
    assert (tmp_path / "whole.safetensors").read_bytes() == (tmp_path / "parts.safetensors").read_bytes()
    assert without_time(rows_of(tmp_path / "whole.jsonl")) == without_time(rows_of(tmp_path / "parts.jsonl"))
