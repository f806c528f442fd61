"""Trains one model twice, by PyTorch and by an artifact, on the same batches."""

import json
import subprocess

import numpy as np
import torch
import torch.nn.functional as F

from harness import ROOT

BIN = ROOT / "build/bin"

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def lstm_runs(dtype):
    """Whether PyTorch has an LSTM of this type on this CPU: its library asks for instructions that not every CPU has."""
    try:
        with torch.autocast("cpu", DTYPES[dtype]):
            torch.nn.LSTM(4, 4)(torch.zeros(2, 1, 4))
    except RuntimeError:
        return False
    return True


def make_batches(batch, count, seed=1):
    rng = np.random.default_rng(seed)
    return [batch(rng) for _ in range(count)]


def make_config(base, dtype, scale=None):
    """train.json for one run; `scale` holds keys of loss_scale."""
    config = json.loads(json.dumps(base))
    if dtype != "f32":
        config["autocast"] = {"dtype": dtype, "policy": "torch-cpu"}
    config["loss_scale"] = {"enabled": False} if scale is None else {"enabled": True, **scale}
    return config


# PyTorch ------------------------------------------------------------------------------------------

def _optimizer(config, parameters):
    (kind, keys), = config["optimizer"].items()
    names = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    return names[kind](parameters, **keys)


def _wide(logits):
    return logits if logits.dtype == torch.float64 else logits.float()


def _loss(config, logits, labels):
    (kind, _), = config["loss"].items()
    if kind == "softmax_cross_entropy":
        return F.cross_entropy(_wide(logits), labels)
    assert kind == "bce_with_logits"
    return F.binary_cross_entropy_with_logits(_wide(logits), labels.to(_wide(logits).dtype))


def train_torch(module, config, batches, dtype):
    """One record a step, with the keys of amp-run's log. `dtype` f64 trains in double precision."""
    if dtype == "f64":
        module.double()
        batches = [({k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in inputs.items()}, labels) for inputs, labels in batches]
    torch.set_num_threads(1)
    module.train()
    optimizer = _optimizer(config, module.parameters())
    scale = dict(config["loss_scale"])
    scaler = torch.amp.GradScaler("cpu", enabled=scale.pop("enabled"), **scale)
    parts = config.get("accumulate", 1)
    records = []
    for first in range(0, len(batches) - parts + 1, parts):
        losses = []
        optimizer.zero_grad()
        for inputs, labels in batches[first:first + parts]:
            with torch.autocast("cpu", DTYPES.get(dtype, torch.bfloat16), enabled=dtype in ("f16", "bf16")):
                logits = module(*(torch.from_numpy(v) for v in inputs.values()))
            loss = _loss(config, logits, torch.from_numpy(labels))
            losses.append(loss.item())
            scaler.scale(loss / parts).backward()
        scaler.unscale_(optimizer)
        limit = config.get("clip", {}).get("norm", float("inf"))
        norm = torch.nn.utils.clip_grad_norm_(module.parameters(), limit)
        before = scaler.get_scale()
        found_inf = not bool(torch.isfinite(norm))
        scaler.step(optimizer)
        scaler.update()
        records.append({"step": len(records) + 1, "loss": float(np.mean(losses)), "scale": scaler.get_scale(),
                        "skipped": scaler.is_enabled() and found_inf, "grad_norm": float(norm), "before": before})
    return records


# The artifact -------------------------------------------------------------------------------------

def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def write_data(path, batches):
    columns = {name: np.concatenate([inputs[name] for inputs, _ in batches]) for name in batches[0][0]}
    np.savez(path, labels=np.concatenate([labels for _, labels in batches]), **columns)


def compile_step(folder, model, config):
    (folder / "model.onnx").write_bytes(model)
    (folder / "train.json").write_text(json.dumps(config))
    run(BIN / "amp-compile", folder / "model.onnx", "--training", folder / "train.json", "-o", folder / "step")
    return folder / "step"


def train_artifact(step, data, log, *options):
    run(BIN / "amp-run", "train", step, "--data", data, "--epochs", "1", "--no-shuffle", "--log", log, *options)
    return [json.loads(line) for line in log.read_text().splitlines()]
