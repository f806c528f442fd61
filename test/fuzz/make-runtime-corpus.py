#!/usr/bin/env python3
"""Seeds for the runtime's fuzzers: make-runtime-corpus.py FOLDER makes FOLDER/{manifest,checkpoint,npz}-seeds."""
import io
import json
import pickle
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import runtime_artifact as artifact  # noqa: E402
import torch_file  # noqa: E402


def npz(writer, **arrays):
    file = io.BytesIO()
    writer(file, **arrays)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def main():
    small = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(3, np.int64), "e": np.zeros((0, 2), bool)}
    archives = [npz(np.savez, **small), npz(np.savez_compressed, **small), npz(np.savez), npy(small["w"]), npy(np.asfortranarray(small["w"]))]
    scheduled = artifact.manifest()
    scheduled["source"]["config"]["schedule"] = {"kind": "cosine", "total_steps": 9, "warmup_steps": 3, "end_factor": 0.1}
    seeds = {"manifest": [json.dumps(m).encode() for m in (artifact.manifest(), scheduled)], "npz": archives,
             "checkpoint": archives + [artifact.safetensors_bytes(small, {"fingerprint": "f"}), artifact.safetensors_bytes({}),
                                       torch_file.forge(small), torch_file.pack({"a": {"w": torch_file.tensor("0", small["w"], (3, 2), (1, 3))}}, {"0": small["w"]})]}
    values = {"a": [1, -5, 300, 2**40, None, True, 1.5], "b": {"c": (1, 2, 3, "text"), "d": ()}}
    seeds["checkpoint"] += [pickle.dumps(values, protocol) for protocol in (2, 4)]
    for name, files in seeds.items():
        folder = Path(sys.argv[1]) / f"{name}-seeds"
        folder.mkdir(parents=True, exist_ok=True)
        for index, data in enumerate(files):
            (folder / f"seed-{index}").write_bytes(data)


main()
