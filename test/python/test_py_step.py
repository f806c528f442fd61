"""Compiled steps from Python: training of ONNX models, arrays without copies, state, errors that name the argument."""
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from harness import ROOT
from test_amp_compile import CONFIG, _data, _model, _train_numpy

amp = pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")
torch = None


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("AMP_CACHE", str(tmp_path_factory.getbasetemp() / "compiled"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    weights = _model(folder / "m.onnx")
    return folder / "m.onnx", weights, _data(folder / "d.npz")


def make(model, **options):
    options = {"loss": CONFIG["loss"], "optimizer": amp.SGD(lr=0.125, momentum=0.5), "bind": {"batch": 8}, "threads": 1} | options
    return amp.compile_training(model[0], **options)


def test_trains_like_numpy(model):
    step = make(model)
    losses = []
    for i in range(5):
        out = step(model[2]["x"], labels=model[2]["labels"])
        losses.append(out.loss)
        assert not out.skipped and out.scale == 1.0 and out.grad_norm > 0 and out["y"].shape == (8, 3)
    assert np.allclose(losses, _train_numpy(model[1], model[2], 5)[0], rtol=1e-5)
    assert step.stats["applied"] == 5
    rows = step.report().data["log"]
    assert [row["loss"] for row in rows] == losses and rows[-1]["step"] == 5


def test_outputs_stay_valid(model):
    step = make(model)
    first = step(model[2]["x"], model[2]["labels"])
    kept = first.y.copy()
    second = step(model[2]["x"], model[2]["labels"])
    assert (first.y == kept).all() and (second.y != kept).any()
    assert first.y.ctypes.data == first.outputs["y"].ctypes.data == first.value.ctypes.data, "an output is not copied"
    y = first.y
    del first, second, step
    gc.collect()
    assert (y == kept).all(), "an array outlives the step"


POINTERS = r"""
#include "amp-c/amp_host.h"
#include <string.h>
int32_t amp_infer(void *const *tensors, void *workspace, const struct amp_host *host) {
  int64_t addresses[2] = {(int64_t)tensors[0], (int64_t)tensors[1]};
  memcpy(tensors[1], addresses, sizeof(addresses));
  return 0;
}
"""


@pytest.fixture(scope="module")
def pointers(tmp_path_factory):
    """A step whose code returns the addresses that it was given."""
    from runtime_artifact import safetensors_bytes
    folder = tmp_path_factory.mktemp("pointers")
    (folder / "code.c").write_text(POINTERS)
    (folder / "step").mkdir()
    subprocess.run(["clang-22", "-shared", "-fPIC", "-O1", f"-I{ROOT}/include", folder / "code.c", "-o", folder / "step/libstep.so"], check=True)
    (folder / "step/init.safetensors").write_bytes(safetensors_bytes({}))
    tensors = [{"name": name, "role": role, "dtype": dtype, "shape": shape, "of": ""} for name, role, dtype, shape in
               (("x", "input", "f32", [4, 6]), ("addresses", "output", "i64", [2]))]
    (folder / "step/manifest.json").write_text(json.dumps({
        "format": "amp-mlir-artifact", "abi": 1, "version": "0.1.0", "fingerprint": "01" * 32,
        "target": {"kind": "cpu", "cpu": "x86-64", "features": ""}, "code": "libstep.so", "init": "init.safetensors",
        "source": {"model": "m", "config": {}}, "tensors": tensors,
        "entries": [{"name": "infer", "symbol": "amp_infer", "tensors": [0, 1], "workspace": 0}],
        "optimizer": {}, "scaler": {"enabled": False}, "autocast": {}, "accumulate": 1}))
    return amp.load(folder / "step")


def test_numpy_is_not_copied(pointers):
    for offset in range(0, 20):
        x = np.zeros(24 + 20, np.float32)[offset:offset + 24].reshape(4, 6)
        result = pointers(x)
        assert result[0] == x.ctypes.data, f"an array at {offset} elements was copied"
        assert result[1] == result.ctypes.data, "an output was copied"
    frozen = np.zeros((4, 6), np.float32)
    frozen.flags.writeable = False
    assert pointers(frozen)[0] == frozen.ctypes.data


def test_torch_is_not_copied(pointers):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for x in torch.zeros(4, 6), torch.zeros(4, 6, requires_grad=True), torch.zeros(9, 6)[3:7], torch.nn.Parameter(torch.zeros(4, 6)):
        result = pointers(x)
        assert isinstance(result, torch.Tensor) and result[0] == x.data_ptr() and result[1] == result.data_ptr()


def test_dlpack_is_not_copied(pointers):
    class Exporter:
        """Some other library's array."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.zeros((4, 6), np.float32)
    assert pointers(Exporter(x))[0] == x.ctypes.data


def test_strided_arrays_are_copied_and_counted(pointers, model):
    x = np.zeros((6, 4), np.float32).T
    with pytest.warns(UserWarning, match="input 'x' is not contiguous: it is copied in every call"):
        assert pointers(x)[0] != x.ctypes.data
    pointers(x)
    assert pointers.copies == {"x": 2}
    step, data = make(model), model[2]
    want = step.infer(data["x"])
    with pytest.warns(UserWarning):
        for strided in np.asfortranarray(data["x"]), np.repeat(data["x"], 2, axis=1)[:, ::2], data["x"][::-1].copy()[::-1]:
            assert (step.infer(strided) == want).all()


def test_parameters_are_views(model):
    step = make(model)
    w1 = step.parameters()["w1"]
    assert (w1 == model[1]["w1"]).all()
    assert w1.ctypes.data == step.parameters()["w1"].ctypes.data
    before = step.infer(model[2]["x"])
    for value in step.parameters().values():
        value[...] = 0
    assert not step.infer(model[2]["x"]).any() and before.any()
    step(model[2]["x"], model[2]["labels"])
    assert step.parameters()["b2"].any()
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert torch.from_dlpack(w1).data_ptr() == w1.ctypes.data


def test_state_and_checkpoints(model, tmp_path):
    data, step = model[2], make(model)
    for _ in range(3):
        step(data["x"], data["labels"])
    step.save(tmp_path / "last.safetensors")
    state = step.state_dict()
    rest = [step(data["x"], data["labels"]).loss for _ in range(3)]
    step.load(tmp_path / "last.safetensors")
    assert [step(data["x"], data["labels"]).loss for _ in range(3)] == rest, "resuming gives the same bits"
    step.reset()
    assert step.stats["applied"] == 0 and (step.parameters()["w1"] == model[1]["w1"]).all()
    step.load_state_dict(state)
    assert all((step.parameters()[name] == value).all() for name, value in state.items())
    with pytest.raises(amp.Error, match=r"it lacks w1; not in the step: v1"):
        step.load_state_dict({"v1" if name == "w1" else name: value for name, value in state.items()})
    with pytest.raises(amp.Error, match=r"'b1' has the shape \[2\] in the state_dict, but \[16\]"):
        step.load_state_dict(state | {"b1": np.zeros(2, np.float32)})
    with pytest.raises(amp.StepError, match="none.safetensors"):
        step.load(tmp_path / "none.safetensors")
    from safetensors.numpy import load_file
    step.save(tmp_path / "plain.safetensors", weights_only=True, plain_names=True)
    assert sorted(load_file(tmp_path / "plain.safetensors")) == ["b1", "b2", "w1", "w2"]


def test_learning_rate(model):
    step = make(model, schedule={"kind": "linear", "total_steps": 8})
    rates = []
    for _ in range(3):
        step(model[2]["x"], model[2]["labels"])
        rates.append(step.lr)
    assert np.allclose(rates, [0.125, 0.109375, 0.09375])
    step.lr = 0
    before = step.parameters()["w1"].copy()
    step(model[2]["x"], model[2]["labels"])
    assert (step.parameters()["w1"] == before).all() and step.lr == 0
    step.follow_schedule()
    step(model[2]["x"], model[2]["labels"])
    assert step.lr > 0
    grouped = make(model, optimizer=amp.AdamW(lr=0.1, groups=[{"name": "bias", "match": "b.*", "lr": 0.2, "weight_decay": 0}]))
    grouped.lr = {"lr": 0.5, "lr.bias": 0.25}
    assert grouped.lr == {"lr": 0.5, "lr.bias": 0.25}


def test_overflow_is_skipped_and_named(model):
    step = make(model, autocast=amp.autocast("cuda"), scaler=amp.GradScaler(init_scale=2.0 ** 40, growth_interval=3))
    before = step.state_dict()
    out = step(model[2]["x"], model[2]["labels"])
    assert out.skipped and out.scale == 2.0 ** 39 and step.first_nonfinite() in before
    assert all((step.parameters()[name] == value).all() for name, value in before.items())
    assert step.stats["skipped"] == 1 and step.stats["applied"] == 0
    while out.skipped:
        out = step(model[2]["x"], model[2]["labels"])
    assert step.first_nonfinite() is None
    state = step.scaler.state_dict()
    assert list(state) == ["scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"] and state["_growth_tracker"] == 1
    step.scaler.load_state_dict(state | {"scale": 1024.0, "_growth_tracker": 2})
    assert step(model[2]["x"], model[2]["labels"]).scale == 2048.0, "it grows after growth_interval finite steps"
    with pytest.raises(amp.Error, match="growth_interval is 7 in the state_dict, but 3"):
        step.scaler.load_state_dict(state | {"growth_interval": 7})


def test_scaler_state_is_pytorch_s(model):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=5)
    step = make(model, autocast=amp.autocast("cuda"), scaler=theirs)
    step(model[2]["x"], model[2]["labels"])
    assert step.scaler.get_scale() == 64.0
    theirs.load_state_dict(step.scaler.state_dict())
    assert theirs.state_dict() == step.scaler.state_dict() and theirs.state_dict()["_growth_tracker"] == 1
    off = make(model, scaler=torch.amp.GradScaler("cpu", enabled=False))
    assert off.scaler.state_dict() == {} and off.scaler.get_scale() == 1.0


def test_inference(model):
    fast = amp.compile(model[0], bind={"batch": 8}, threads=1)
    x = model[2]["x"]
    want = np.maximum(x @ model[1]["w1"] + model[1]["b1"], 0) @ model[1]["w2"] + model[1]["b2"]
    assert np.allclose(fast(x), want, atol=1e-5) and np.allclose(fast(x=x), want, atol=1e-5)
    half = amp.compile(model[0], bind={"batch": 8}, autocast=amp.autocast("cuda", policy="balanced"), threads=1)
    error = np.abs(half(x) - want).max()
    assert 0 < error < 0.02
    assert half.report().summary["narrow"] > 0
    fast.load_state_dict({name: np.zeros_like(value) for name, value in fast.state_dict().items()})
    assert not fast(x).any()


def test_cache(model, tmp_path):
    first = make(model, cache=tmp_path / "kept")
    entry, = (tmp_path / "kept").iterdir()
    times = (entry / "libstep.so").stat().st_mtime_ns
    second = make(model, cache=tmp_path / "kept")
    assert (entry / "libstep.so").stat().st_mtime_ns == times and len(list((tmp_path / "kept").iterdir())) == 1
    a, b = (step(model[2]["x"], model[2]["labels"]).loss for step in (first, second))
    assert a == b
    make(model, cache=tmp_path / "kept", optimizer=amp.SGD(lr=0.25))
    assert len(list((tmp_path / "kept").iterdir())) == 2
    (tmp_path / "damaged").write_bytes(b"damaged")
    os.replace(tmp_path / "damaged", entry / "libstep.so")
    with pytest.warns(UserWarning, match="compiled again"):
        make(model, cache=tmp_path / "kept")


def test_in_memory(model, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    opened = len(os.listdir("/proc/self/fd"))
    step = make(model, cache=False)
    assert not list(tmp_path.iterdir()), "no folder is left"
    step(model[2]["x"], model[2]["labels"])
    step.reset()
    assert step.stats["applied"] == 0 and step.report().data["compile"]["fingerprint"]
    del step
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= opened
    monkeypatch.undo()


@pytest.mark.parametrize("arguments, names, message", [
    (("x",), {}, r"input 'labels' is missing"),
    (("x", "labels", "x"), {}, r"3 inputs were given, but it takes 2"),
    (("x", "x"), {}, r"input 'labels' is f32\[8, 3\], but f32\[8, 6\] was given"),
    (("x",), {"label": "labels"}, r"input 'labels' is missing"),
    (("x", "labels"), {"x": "x"}, r"3 inputs|given twice"),
    (("ints", "labels"), {}, r"input 'x' is f32\[8, 6\], but i64\[8, 6\] was given"),
    (("complex", "labels"), {}, r"input 'x' is f32\[8, 6\], but another type\[8, 6\] was given"),
    (("list", "labels"), {}, r"input 'x' is f32\[8, 6\], but a builtins.list was given"),
    (("half", "labels"), {}, r"but f16\[8, 6\] was given"),
    (("short", "labels"), {}, r"but f32\[7, 6\] was given"),
])
def test_errors_name_the_argument(model, arguments, names, message):
    values = model[2] | {"ints": np.zeros((8, 6), np.int64), "list": [[0.0]], "complex": np.zeros((8, 6), np.complex64),
                         "half": np.zeros((8, 6), np.float16), "short": np.zeros((7, 6), np.float32)}
    step = make(model)
    with pytest.raises(amp.Error, match=message):
        step(*[values[name] for name in arguments], **{name: values[value] for name, value in names.items()})
    assert step.stats["iteration"] == 0


def test_another_device_is_named(model):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    step = make(model)
    with pytest.raises(amp.Error, match="input 'x'"):
        step(torch.zeros(8, 6, device="meta"), torch.zeros(8, 3))

    class Elsewhere:
        """A DLPack tensor that says it is on a GPU."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            import ctypes
            capsule = self.array.__dlpack__()
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2
            return capsule

        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(amp.Error, match=r"input 'x' is on another device .*type 2.*move it there"):
        step(Elsewhere(np.zeros((8, 6), np.float32)), model[2]["labels"])


@pytest.mark.parametrize("options, message", [
    ({"loss": {"mse": {"logits": "z", "labels": "labels"}}}, "no value is called 'z'"),
    ({"optimizer": amp.SGD(lr=-1)}, "optimizer.sgd.lr"),
    ({"optimizer": "sgd"}, "optimizer is amp.SGD"),
    ({"autocast": "cuda"}, r"autocast is amp.autocast\(...\) or None, but got str"),
    ({"scaler": 3}, "scaler is an amp.GradScaler"),
    ({"target": "tpu"}, "target is 'cpu' or 'cuda:'"),
    ({"bind": {}}, "batch"),
    ({"frozen": ["nothing"]}, "'nothing' in 'frozen' matches"),
    ({"options": {"clop": 1}}, "clop"),
    ({"cpu": "i386-next"}, "i386-next"),
])
def test_compile_errors(model, options, message):
    with pytest.raises(amp.Error, match=message):
        make(model, **options)


def test_models_that_can_t_be_compiled(tmp_path):
    with pytest.raises(amp.Error, match="cannot read"):
        amp.compile_training(tmp_path / "none.onnx", loss="y", optimizer=amp.SGD())
    with pytest.raises(amp.Error, match="model is a torch module, a path"):
        amp.compile(3)
    b = amp.GraphBuilder("net")
    x = b.input("x", "f32", [2, 3])
    y, = b.op("Det", [b.input("m", "f32", [3, 3])], name="determinant", loc=("model.py", 12))
    b.output(b.op("Add", [x, y])[0], "y")
    with pytest.raises(amp.Error, match=r"model.py:12: node 'determinant'.*Det"):
        amp.compile(b.finish())


def test_autocast_arguments():
    assert amp.autocast("cuda").config() == {"dtype": "f16", "policy": "torch-cuda"}
    assert amp.autocast("cpu").config() == {"dtype": "bf16", "policy": "torch-cpu"}
    assert amp.autocast(dtype="bfloat16", policy="balanced", pin={"/head/.*": "f32"}).config() == {
        "dtype": "bf16", "policy": "balanced", "pin": ["/head/.*=f32"]}
    for arguments in ("mps",), ("cuda", "f8"):
        with pytest.raises(amp.Error, match="autocast: the"):
            amp.autocast(*arguments)


def test_threads_take_turns(model):
    step, alone = make(model), make(model)
    x, labels = model[2]["x"], model[2]["labels"]
    seen, errors = [], []

    def work():
        try:
            for _ in range(50):
                out = step(x, labels)
                seen.append((out._result.iteration, out.loss))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and sorted(i for i, _ in seen) == list(range(1, 201))
    assert [loss for _, loss in sorted(seen)] == [alone(x, labels).loss for _ in range(200)], "each call is one whole step"


def test_gil_is_released(tmp_path):
    """While a step of some milliseconds runs, another thread of Python goes on."""
    b = amp.GraphBuilder("net")
    x = b.input("x", "f32", [1024, 1024])
    y, = b.op("MatMul", [x, x])
    for _ in range(4):
        y, = b.op("MatMul", [y, x])
    b.output(y, "y")
    fast = amp.compile(b.finish(), threads=1)
    x = np.zeros((1024, 1024), np.float32)
    done, ticks = threading.Event(), []

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    fast(x)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert end - begin > 0.02 and sum(begin < t < end for t in ticks) > (end - begin) / 0.02, (end - begin, len(ticks))


def test_fork_is_refused(model):
    step = make(model)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            step(model[2]["x"], model[2]["labels"])
            text = "it ran"
        except amp.Error as error:
            text = str(error)
        os.write(write, text.encode())
        del step
        gc.collect()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    assert os.waitpid(child, 0)[1] == 0
    assert "threads do not survive a fork" in text and str(os.getpid()) in text
    step(model[2]["x"], model[2]["labels"])


INTERRUPTED = """
import sys, time, numpy as np
import amp_mlir as amp
b = amp.GraphBuilder("net")
y = x = b.input("x", "f32", [4, 64])
for i in range(400):
    w = b.initializer(f"w{i}", np.full((64, 64), i, np.float32))
    y, = b.op("Tanh", b.op("MatMul", [y, w]))
b.output(y, "y")
m = b.finish()
print("begin", flush=True)
try:
    amp.compile_training(m, loss={"mse": {"logits": "y", "labels": "t"}}, optimizer=amp.SGD(lr=1.0), cache=False, threads=1)
    print("compiled")
except KeyboardInterrupt:
    print("interrupted")
print(len(m.text()) > 0)
"""


def test_ctrl_c_ends_a_compilation(tmp_path):
    import amp_mlir
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(amp_mlir.__file__)), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout.readline() == "begin\n"
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    begin = time.perf_counter()
    output, _ = process.communicate(timeout=60)
    assert output == "interrupted\nTrue\n"
    assert time.perf_counter() - begin < 10
    assert not list(tmp_path.iterdir()), "no folder is left"


def test_the_runtime_needs_no_compiler(model, tmp_path):
    import amp_mlir
    make(model, cache=tmp_path)
    entry, = tmp_path.iterdir()
    code = ("import sys, amp_mlir as amp; step = amp.load(sys.argv[1], threads=1); print(step.stats['applied'], "
            "any('libMLIR' in line for line in open('/proc/self/maps')))")
    process = subprocess.run([sys.executable, "-c", code, str(entry)], capture_output=True, text=True,
                             env=os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(amp_mlir.__file__))})
    assert process.stdout == "0 False\n", process.stderr


@pytest.mark.skipif(not (ROOT / "build/lib/libamp_cuda_emulator.so").exists(), reason="the emulator is not built (utils/build)")
def test_steps_for_cuda_run_on_the_emulator(model, monkeypatch):
    """State lies on the device: it is read and written there."""
    monkeypatch.setenv("AMP_CUDA_DRIVER", "emulator")
    monkeypatch.setenv("AMP_EMULATOR_CC", "80")
    data = model[2]
    step, host = make(model, target="cuda:sm_80"), make(model)
    for _ in range(2):
        assert np.isclose(step(data["x"], data["labels"]).loss, host(data["x"], data["labels"]).loss, rtol=1e-5)
    state = step.state_dict()
    assert all(np.allclose(value, host.state_dict()[name], atol=1e-5) for name, value in state.items())
    step.load_state_dict({name: np.zeros_like(value) for name, value in state.items()})
    assert not step.infer(data["x"]).any()
    with pytest.raises(amp.Error, match="read by state_dict"):
        step.parameters()
