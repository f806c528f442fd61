"""The training runs of test_torch_training.py from nn.Modules: traced, compiled and stepped in process, next to PyTorch's loop."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (utils/setup --torch)")
amp = pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")

import torch_models
from torch.nn import functional as F
from training import make_batches, make_config, train_torch

LOSSES = {"softmax_cross_entropy": F.cross_entropy, "bce_with_logits": F.binary_cross_entropy_with_logits}
OPTIMIZERS = {"sgd": "SGD", "adamw": "AdamW"}
# A scale that overflows at first and comes down.
SCALE = {"f16": {"init_scale": 2.0**24, "growth_interval": 60}, "bf16": None}


def train_compiled(module, base, batches, dtype, scale):
    """One record a step, as train_torch makes them, and the step."""
    (inputs, labels) = batches[0]
    (kind, keys), = base["optimizer"].items()
    (loss, _), = base["loss"].items()
    loss = LOSSES[loss]
    step = amp.compile_training(
        module, tuple(torch.from_numpy(v) for v in (*inputs.values(), labels)), loss=lambda y, t: loss(y.float(), t), cache=False,
        optimizer=getattr(amp, OPTIMIZERS[kind])(**keys), autocast=None if dtype == "f32" else amp.autocast("cpu", dtype), threads=1,
        scaler=False if scale is None else amp.GradScaler(**scale), clip_norm=base.get("clip", {}).get("norm"), accumulate=base.get("accumulate", 1))
    parts, records = base.get("accumulate", 1), []
    for first in range(0, len(batches) - parts + 1, parts):
        losses = []
        for inputs, labels in batches[first:first + parts]:
            out = step(*(torch.from_numpy(v) for v in (*inputs.values(), labels)))
            losses.append(float(out.loss))
        records.append({"loss": float(np.mean(losses)), "scale": float(out.scale), "skipped": bool(out.skipped)})
    return records, step


def run_both(name, dtype, scale=None, steps=10):
    module, batch, base = torch_models.build(name)
    batches = make_batches(batch, steps * base.get("accumulate", 1))
    found, step = train_compiled(module.train(), base, batches, dtype, scale)
    reference, _, _ = torch_models.build(name)
    expected = train_torch(reference, make_config(base, dtype, scale), batches, dtype)
    return found, expected, step, module, reference


@pytest.mark.parametrize("name", torch_models.MODELS)
def test_float32_runs(name):
    found, expected, step, module, reference = run_both(name, "f32")
    np.testing.assert_allclose([r["loss"] for r in found], [r["loss"] for r in expected], rtol=1e-5, atol=1e-6)
    step.copy_to(module)
    for (key, value), (_, other) in zip(module.state_dict().items(), reference.state_dict().items()):
        np.testing.assert_allclose(value.numpy(), other.numpy(), rtol=1e-3, atol=1e-4, err_msg=key)


@pytest.mark.parametrize("name, dtype", [*((name, "f16") for name in torch_models.MODELS), ("resnet", "bf16"), ("encoder", "bf16")])
def test_half_runs_skip_and_scale_alike(name, dtype):
    if name == "lstm":
        pytest.skip("PyTorch's LSTM does not run in f16 on this CPU")
    found, expected, *_ = run_both(name, dtype, SCALE[dtype], steps=15)
    assert [r["skipped"] for r in found] == [r["skipped"] for r in expected]
    assert [r["scale"] for r in found] == [r["scale"] for r in expected]
    np.testing.assert_allclose([r["loss"] for r in found], [r["loss"] for r in expected], rtol=2**-6, atol=2**-6)
    if SCALE[dtype]:
        assert any(r["skipped"] for r in found) and not all(r["skipped"] for r in found)
