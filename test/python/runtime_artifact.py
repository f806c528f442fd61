"""A hand-written artifact (softmax regression), its twin in NumPy, and the runtime by ctypes."""
import ctypes
import json
import os
import struct
import subprocess
from pathlib import Path

import numpy as np

from harness import ROOT, run_process

B, I, O = 8, 4, 3
BUILD = Path(os.environ.get("AMP_RUNTIME_BUILD") or ROOT / "build")
AMP_RUN = BUILD / "bin/amp-run"
LIBRARY = BUILD / "lib/libamp_runtime.so"
FINGERPRINT = "0123456789abcdef" * 4
NUMPY_NAMES = {"f32": np.float32, "i64": np.int64, "i32": np.int32}
FORMAT_NAMES = {"f32": "F32", "f16": "F16", "f64": "F64", "i64": "I64", "i32": "I32", "bf16": "BF16", "i1": "BOOL", "i8": "I8", "u8": "U8"}


def state(name, role, dtype, shape, init, of=""):
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape), "of": of, "init": init}


def value(name, role, dtype, shape, of=""):
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape), "of": of}


def manifest():
    """A new manifest of the artifact in test/Inputs/runtime/step.c."""
    zero = {"value": 0}
    tensors = [
        value("x", "input", "f32", (B, I)), value("y", "label", "i64", (B,)),
        state("w", "parameter", "f32", (I, O), "w"), state("b", "parameter", "f32", (O,), "b"),
        state("momentum_buffer.w", "optimizer_state", "f32", (I, O), zero, "w"),
        state("momentum_buffer.b", "optimizer_state", "f32", (O,), zero, "b"),
        state("scaler.scale", "scaler_state", "f32", (), {"value": 65536.0}),
        state("scaler.growth_tracker", "scaler_state", "i32", (), zero),
        state("train.applied_steps", "counter", "i64", (), zero),
        state("train.iteration", "counter", "i64", (), zero),
        state("train.skipped", "counter", "i64", (), zero),
        state("lr", "hyper", "f32", (), {"value": 0.1}),
        value("loss", "loss", "f32", ()), value("found_inf", "metric", "f32", ()), value("grad_norm", "metric", "f32", ()),
        value("grad.w", "gradient", "f32", (I, O), "w"), value("eval_loss", "loss", "f32", ()), value("logits", "output", "f32", (B, O)),
    ]
    entries = [{"name": "train_step", "symbol": "amp_train_step", "tensors": list(range(16)), "workspace": 4 * B * O},
               {"name": "eval_step", "symbol": "amp_eval_step", "tensors": [0, 1, 2, 3, 16, 17], "workspace": 4 * B * O},
               {"name": "infer", "symbol": "amp_infer", "tensors": [0, 2, 3, 17], "workspace": 0}]
    return {"format": "amp-mlir-artifact", "abi": 1, "version": "0.1.0", "fingerprint": FINGERPRINT,
            "target": {"kind": "cpu", "cpu": "x86-64", "features": "+sse2,+cx8,-avx512f"}, "code": "libstep.so", "init": "init.safetensors",
            "source": {"model": "model.onnx", "config": {"optimizer": {"sgd": {"lr": 0.1, "momentum": 0.9}}}},
            "tensors": tensors, "entries": entries, "optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
            "scaler": {"enabled": True, "init_scale": 65536.0, "growth_interval": 7, "min_scale": 0.0},
            "autocast": {"dtype": "f16", "policy": "torch-cpu"}, "accumulate": 1}


def safetensors_bytes(arrays, metadata=None):
    """A safetensors file, written independently of the runtime."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    names = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64", np.dtype(np.float16): "F16", np.dtype(np.int64): "I64",
             np.dtype(np.int32): "I32", np.dtype(np.uint8): "U8", np.dtype(bool): "BOOL"}
    for name, array in arrays.items():
        array = np.asarray(array)
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read_safetensors(path):
    """(arrays by name, metadata): read independently of the runtime, every rule of the format asserted."""
    raw = Path(path).read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    data, end, arrays = raw[8 + length:], 0, {}
    metadata = header.pop("__metadata__", {})
    assert (8 + length) % 64 == 0 and all(isinstance(v, str) for v in metadata.values())
    types = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64, "I32": np.int32, "U8": np.uint8, "BOOL": bool}
    for name, row in header.items():
        begin, stop = row["data_offsets"]
        assert begin == end, f"{name} leaves a hole"
        end = stop
        arrays[name] = np.frombuffer(data[begin:stop], types[row["dtype"]]).reshape(row["shape"])
    assert end == len(data)
    return arrays, metadata


def initial():
    rng = np.random.default_rng(5)
    return {"w": rng.normal(size=(I, O)).astype(np.float32), "b": np.zeros(O, np.float32)}


def compile_code(folder):
    """libstep.so by whatever C compiler there is."""
    target = Path(folder) / "libstep.so"
    compiler = os.environ.get("CC") or "clang-22"
    subprocess.run([compiler, "-O1", "-ffp-contract=off", "-shared", "-fPIC", f"-I{ROOT}/include", ROOT / "test/Inputs/runtime/step.c", "-o", target, "-lm"], check=True)
    return target


def write_artifact(folder, code, form=None, init=None):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(form or manifest(), indent=1))
    (folder / "init.safetensors").write_bytes(safetensors_bytes(init or initial()))
    if (folder / "libstep.so").exists():
        (folder / "libstep.so").unlink()
    os.link(code, folder / "libstep.so")
    return folder


def make_data(rows, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, I)).astype(np.float32)
    y = (x[:, 0] + 2 * x[:, 1] > 0).astype(np.int64) + (x[:, 2] > 0.5)
    return {"x": x, "y": y.astype(np.int64)}


class Twin:
    """The same step in NumPy, float64 where order of summation would matter for a comparison within 1e-5."""

    def __init__(self, lr=0.1):
        self.w, self.b = (initial()[k].astype(np.float64) for k in "wb")
        self.mw, self.mb, self.lr = np.zeros((I, O)), np.zeros(O), lr
        self.scale, self.tracker, self.applied, self.skipped = 65536.0, 0, 0, 0

    def logits(self, x):
        return x.astype(np.float64) @ self.w + self.b

    def loss(self, x, y):
        z = self.logits(x)
        z = z - z.max(1, keepdims=True)
        p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        return -np.log(p[np.arange(len(y)), y]).mean(), p

    def step(self, x, y):
        loss, p = self.loss(x, y)
        d = (p - np.eye(O)[y]) / len(y)
        gw, gb = x.T.astype(np.float64) @ d, d.sum(0)
        found = bool((np.abs(gw * self.scale) > 65504).any())
        norm = np.inf if found else np.sqrt((gw**2).sum() + (gb**2).sum())
        if found:
            self.scale, self.tracker, self.skipped = self.scale / 2, 0, self.skipped + 1
        else:
            self.mw, self.mb = 0.9 * self.mw + gw, 0.9 * self.mb + gb
            self.w, self.b, self.applied = self.w - self.lr * self.mw, self.b - self.lr * self.mb, self.applied + 1
            self.tracker += 1
            if self.tracker == 7:
                self.scale, self.tracker = self.scale * 2, 0
        return {"loss": loss, "scale": self.scale, "skipped": found, "grad_norm": norm}


def amp_run(*arguments, **options):
    options.setdefault("timeout", 60)
    return run_process([AMP_RUN, *arguments], **options)


class View(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_char_p), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


class Buffer(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64))]


class Stats(ctypes.Structure):
    _fields_ = [("loss", ctypes.c_double), ("grad_norm", ctypes.c_double), ("scale", ctypes.c_double), ("found_inf", ctypes.c_int32),
                ("applied", ctypes.c_int64), ("skipped", ctypes.c_int64), ("iteration", ctypes.c_int64)]


ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Settings(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("allocate", ALLOCATE), ("release", RELEASE), ("context", ctypes.c_void_p)]


OK, INVALID, NOT_FOUND, MISMATCH, BAD_FILE, IO, NO_MEMORY, UNSUPPORTED, FAILED = range(9)
DTYPES = {np.dtype(np.float32): 1, np.dtype(np.float16): 2, np.dtype(np.float64): 4, np.dtype(np.int64): 5, np.dtype(np.int32): 6}


class Error(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status, self.text = status, text


class Step:
    """A handle of the C interface."""

    def __init__(self, path, settings=None):
        self.library = ctypes.CDLL(str(LIBRARY))
        for name in ("amp_error_text", "amp_tensor_count"):
            getattr(self.library, name).restype = ctypes.c_size_t
        self.handle = ctypes.c_void_p()
        status = self.library.amp_open(os.fsencode(path), ctypes.byref(settings) if settings else None, ctypes.byref(self.handle))
        if status:
            text = self.error()
            self.close()
            raise Error(status, text)

    def close(self):
        self.library.amp_close(self.handle)
        self.handle = ctypes.c_void_p()

    def error(self):
        size = self.library.amp_error_text(self.handle, None, ctypes.c_size_t(0))
        text = ctypes.create_string_buffer(size + 1)
        self.library.amp_error_text(self.handle, text, ctypes.c_size_t(size + 1))
        return text.value.decode(errors="replace")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(self.handle, *arguments)
        if status:
            raise Error(status, self.error())

    def buffers(self, arrays):
        rows, keep = (Buffer * max(len(arrays), 1))(), []
        for row, (name, array) in zip(rows, arrays):
            shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            keep.append((shape, array))
            row.name, row.data, row.dtype = name.encode() if name else None, array.ctypes.data, DTYPES[array.dtype]
            row.rank, row.shape = array.ndim, shape
        return rows, ctypes.c_size_t(len(arrays)), keep

    def run(self, entry, inputs, outputs=()):
        feeds, feed_count, keep = self.buffers(list(inputs.items()) if isinstance(inputs, dict) else [(None, a) for a in inputs])
        results, result_count, keep2 = self.buffers(list(outputs.items()) if isinstance(outputs, dict) else [(None, a) for a in outputs])
        self.call("amp_run", entry.encode(), feeds, feed_count, results, result_count)

    def view(self, name):
        view = View()
        self.call("amp_tensor", name.encode(), ctypes.byref(view))
        return view

    def array(self, name):
        """A NumPy view of a tensor's memory, nothing copied."""
        view = self.view(name)
        types = {1: np.float32, 4: np.float64, 5: np.int64, 6: np.int32}
        shape = view.shape[:view.rank]
        memory = (ctypes.c_char * view.bytes).from_address(view.data)
        return np.frombuffer(memory, types[view.dtype]).reshape(shape)

    def stats(self):
        stats = Stats()
        self.call("amp_get_stats", ctypes.byref(stats))
        return stats

    def state(self):
        """A copy of all state."""
        result = {}
        for i in range(self.library.amp_tensor_count(self.handle)):
            view = View()
            self.call("amp_tensor_at", ctypes.c_size_t(i), ctypes.byref(view))
            if view.role.decode() in ("parameter", "buffer", "optimizer_state", "scaler_state", "counter", "hyper"):
                result[view.name.decode()] = self.array(view.name.decode()).copy()
        return result
