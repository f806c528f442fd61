"""Training by an artifact is training by PyTorch: the same skips and scales exactly, the same losses within a band.

Float32 runs drift apart by rounding, and how fast depends on the model: PyTorch in double precision is the judge, and the artifact may be
1e-5 or 4 times as far from it as PyTorch in float32 is. (The ResNet has so many kinks that its learning rate is kept small.) Half types:
PyTorch itself rounds differently from one attention or fusion to the next, so the first losses agree to 2^-7 and the last ones to 15 %."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: utils/setup --torch")

import torch_models  # noqa: E402
import training  # noqa: E402



def _losses(records):
    return np.array([r["loss"] for r in records])


def _train(tmp_path, name, dtype, scale=None, overflow_at=(), steps=None):
    """Records of the artifact, of PyTorch, and of PyTorch in double precision (float32 runs only)."""
    module, batch, base = torch_models.build(name)
    config = training.make_config(base, dtype, scale)
    steps = steps or (1000 if name == "mlp" else 100)
    batches = training.make_batches(batch, steps * base.get("accumulate", 1))
    for index in overflow_at:
        batches[index][0]["x"][0] = 3e38
    model = torch_models.export(module, batches[0][0])
    training.write_data(tmp_path / "data.npz", batches)
    step = training.compile_step(tmp_path, model, config)
    double = copy.deepcopy(module)
    expected = training.train_torch(module, config, batches, dtype)
    exact = training.train_torch(double, config, batches, "f64") if dtype == "f32" else None
    return training.train_artifact(step, tmp_path / "data.npz", tmp_path / "log.jsonl"), expected, exact


def _compare_scaling(found, expected):
    assert [r["skipped"] for r in found] == [r["skipped"] for r in expected]
    assert [r["scale"] for r in found] == [r["scale"] for r in expected]


@pytest.mark.parametrize("name", torch_models.MODELS)
def test_float32_follows_torch(tmp_path, name):
    found, expected, exact = map(_losses, _train(tmp_path, name, "f32"))
    allowed = np.maximum(1e-5 * np.abs(exact), 4 * np.maximum.accumulate(np.abs(expected - exact)))
    assert (np.abs(found - exact) <= allowed)[:10].all(), np.abs(found - exact)[:10] / exact[:10]
    np.testing.assert_allclose(found[-10:].mean(), expected[-10:].mean(), rtol=2e-2)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", torch_models.MODELS)
def test_half_follows_torch(tmp_path, name, dtype):
    if name == "lstm" and not training.lstm_runs(dtype):
        pytest.skip(f"PyTorch's LSTM does not run in {dtype} on this CPU")
    # 2^24 overflows at first. 100 steps: a longer run comes near the limit again and again, where the last bit of a gradient decides.
    scale = {"init_scale": 2.0**24, "growth_interval": 60} if dtype == "f16" else None
    found, expected, _ = _train(tmp_path, name, dtype, scale, steps=100)
    _compare_scaling(found, expected)
    np.testing.assert_allclose(_losses(found)[:3], _losses(expected)[:3], rtol=2**-7)
    np.testing.assert_allclose(_losses(found)[-10:].mean(), _losses(expected)[-10:].mean(), rtol=0.15)
    if scale:
        assert any(r["skipped"] for r in found)
    _check_resume(tmp_path)


def _check_resume(tmp_path):
    """40 steps at once with two threads, and 15 and 25 with one: the same bits."""
    def train(name, steps, *options):
        training.run(training.BIN / "amp-run", "train", tmp_path / "step", "--data", tmp_path / "data.npz", "--seed", 5, "--save", tmp_path / name, "--steps", steps, *options)
        return (tmp_path / name).read_bytes()
    whole = train("whole.safetensors", 40, "--threads", 2)
    train("first.safetensors", 15, "--threads", 1)
    assert train("second.safetensors", 40, "--threads", 1, "--resume", tmp_path / "first.safetensors") == whole


def test_forced_overflows_are_skipped_as_in_torch(tmp_path):
    """1000 steps, a tenth of them with infinite inputs: as many growths as backoffs, at scales that do not overflow by themselves."""
    overflow = np.flatnonzero(np.random.default_rng(3).random(1000) < 0.094)
    found, expected, _ = _train(tmp_path, "mlp", "f16", {"init_scale": 1.0, "growth_interval": 7}, overflow)
    _compare_scaling(found, expected)
    assert [r["skipped"] for r in found] == [i in overflow for i in range(1000)]
    assert max(r["scale"] for r in found) > 4 and min(r["scale"] for r in found) < 0.25
