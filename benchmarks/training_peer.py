"""One PyTorch training configuration in a process of its own; prints a JSON line. Usage: training_peer.py MODEL DTYPE THREADS STEPS eager|compile"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import training_models

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def main(name, dtype, threads, steps, mode):
    torch.set_num_threads(int(threads))
    module, (inputs, labels), optimizer = training_models.build(name)
    (kind, keys), = optimizer.items()
    update = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[kind](module.parameters(), fused=True, **keys)
    scaler = torch.amp.GradScaler("cpu", enabled=dtype == "f16")
    forward = torch.compile(module) if mode == "compile" else module
    tensors, labels = [torch.from_numpy(v) for v in inputs.values()], torch.from_numpy(labels)

    def step():
        with torch.autocast("cpu", DTYPES[dtype], enabled=dtype != "f32"):
            loss = F.cross_entropy(forward(*tensors).float(), labels)
        scaler.scale(loss).backward()
        scaler.step(update)
        scaler.update()
        update.zero_grad()
        return loss.item()

    begin = time.perf_counter()
    losses = [step()]
    first = time.perf_counter() - begin
    seconds = []
    for _ in range(int(steps)):
        begin = time.perf_counter()
        losses.append(step())
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"median": statistics.median(seconds), "fastest": min(seconds), "first": first, "losses": [losses[0], losses[-1]]}))


main(*sys.argv[1:])
