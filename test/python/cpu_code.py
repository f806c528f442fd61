"""Compiles models of primitives with the CPU code generator (all into one library) and calls them through ctypes."""
import ctypes
import json
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx

from harness import ROOT, run_process

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i64": np.int64,
         "i32": np.int32, "i16": np.int16, "i8": np.int8, "ui8": np.uint8, "ui32": np.uint32, "ui64": np.uint64, "i1": np.bool_}

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, TASK, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Host(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("parallel_for", PARALLEL_FOR),
                ("pool", ctypes.c_void_p)]


def program():
    return Path(os.environ.get("AMP_COMPILE_MODELS") or ROOT / "build/bin/amp-compile-models")


def make_host(pieces):
    """A host that cuts each range into about `pieces` pieces and runs the last one first: what threads might do."""
    def parallel_for(_, task, buffers, n, grain):
        step = max(grain, -(-n // pieces))
        for lo in reversed(range(0, n, step)):
            task(buffers, lo, min(lo + step, n))
    callback = PARALLEL_FOR(parallel_for)
    return Host(1, pieces, callback, None), callback


def aligned(size):
    """`size` bytes at a multiple of 64, filled with 0xff: NaN, if read before it is written."""
    raw = np.full(size + 192, 0xff, np.uint8)
    start = -raw.ctypes.data % 64
    return raw, raw[start:start + size + 64]


class Library:
    """The entries of one compiled library."""

    def __init__(self, folder):
        self.entries = json.loads((folder / "entries.json").read_text())
        self.code = ctypes.CDLL(str(folder / "lib.so"))

    def run(self, name, feeds, pieces=1, state=None):
        """Outputs by name. `state`, a dictionary, takes what the arguments hold afterwards."""
        entry = self.entries[name]
        buffers, outputs = [], {}
        for tensor in entry["tensors"]:
            dtype, shape = np.dtype(TYPES[tensor["type"]]), tensor["shape"]
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            raw, bytes_ = aligned(size)
            view = bytes_[:size].view(dtype).reshape(shape)
            if tensor["role"] == "output":
                outputs[tensor["name"]] = (view, bytes_[size:])
            else:
                feed = feeds[tensor["name"]]
                assert feed.dtype == dtype and list(feed.shape) == shape, (tensor, feed.dtype, feed.shape)
                view[...] = feed
            buffers.append((raw, bytes_))
        workspace = aligned(entry["workspace"])
        pointers = (ctypes.c_void_p * len(buffers))(*[b.ctypes.data for _, b in buffers])
        host, callback = make_host(pieces)
        function = getattr(self.code, entry["symbol"])
        assert function(pointers, ctypes.c_void_p(workspace[1].ctypes.data), ctypes.byref(host)) == 0
        assert (workspace[1][entry["workspace"]:] == 0xff).all(), "written behind the workspace"
        for view, guard in outputs.values():
            assert (guard == 0xff).all(), f"{name}: written behind an output"
        if state is not None:
            for tensor, (_, bytes_) in zip(entry["tensors"], buffers):
                dtype, shape = np.dtype(TYPES[tensor["type"]]), tensor["shape"]
                state[tensor["name"]] = bytes_[:int(np.prod(shape, dtype=np.int64)) * dtype.itemsize].view(dtype).reshape(shape).copy()
        return {output: view.copy() for output, (view, _) in outputs.items()}


def compile_models(models, folder, fuse=True, cpu="native"):
    """`models`: ModelProto, or the text of an MLIR module, by name."""
    paths = []
    for name, model in models.items():
        path = folder / f"{name}.{'mlir' if isinstance(model, str) else 'onnx'}"
        path.write_text(model) if isinstance(model, str) else onnx.save(model, path)
        paths.append(path)
    command = [program(), f"--cpu={cpu}"] + ([] if fuse else ["--no-fuse"]) + [folder, *paths]
    run = run_process(command, timeout=600)
    assert run.ok, run.describe()
    return Library(folder)
