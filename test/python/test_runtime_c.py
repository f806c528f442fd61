"""The C interface, by ctypes and from a C program, on a hand-written artifact."""
import ctypes
import json
import os
import subprocess
import threading
import zipfile

import numpy as np
import pytest

from harness import ROOT
from runtime_artifact import (ALLOCATE, BAD_FILE, FAILED, FINGERPRINT, INVALID, LIBRARY, MISMATCH, NOT_FOUND, RELEASE, B, Error, I, O, Settings, Step, Twin,
                              amp_run, compile_code, initial, make_data, manifest, write_artifact)

pytestmark = pytest.mark.skipif(not LIBRARY.is_file(), reason="libamp_runtime is not built")


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return compile_code(tmp_path_factory.mktemp("code"))


@pytest.fixture
def folder(tmp_path, code):
    return write_artifact(tmp_path / "step", code)


@pytest.fixture
def step(folder):
    handle = Step(folder)
    yield handle
    handle.close()


def batch(index=0):
    arrays = make_data(96)
    return {k: v[index * B:index * B + B].copy() for k, v in arrays.items()}


def fails(status, complaint, action, *arguments, **options):
    with pytest.raises(Error) as caught:
        action(*arguments, **options)
    assert caught.value.status == status and complaint in caught.value.text, (caught.value.status, caught.value.text)


def test_library_shows_the_interface_alone():
    lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[-1].split("@")[0] for line in lines} - {"AMP_1"}
    header = (ROOT / "include/amp-c/amp.h").read_text()
    assert names and all(name.startswith("amp_") for name in names)
    declared = {word for word in names if f"{word}(" in header}
    assert declared == names


def test_header_is_c_and_cpp(tmp_path):
    source = tmp_path / "use.c"
    source.write_text('#include "amp-c/amp.h"\n#include "amp-c/amp_host.h"\nint main(void) { return amp_abi_version() == AMP_ABI_VERSION ? 0 : 1; }\n')
    for command in (["clang-22", "-std=c99"], ["clang++-22", "-std=c++11", "-x", "c++"]):
        subprocess.run([*command, "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT}/include", source, "-x", "none", LIBRARY, "-o", tmp_path / "use"], check=True)
        subprocess.run([tmp_path / "use"], check=True, env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)})


def test_example_program(tmp_path, folder):
    """examples/train.c sees the header and the library alone; its second part goes on exactly where the first one stopped."""
    program = tmp_path / "train"
    subprocess.run(["clang-22", "-std=c11", "-Wall", "-Wextra", "-Werror", "-D_POSIX_C_SOURCE=200809L", f"-I{ROOT}/include", ROOT / "examples/train.c",
                    f"-L{LIBRARY.parent}", "-lamp_runtime", "-o", program], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
    def lines(steps):
        run = subprocess.run([program, folder, str(steps), tmp_path / "c.safetensors"], capture_output=True, text=True, env=environment)
        assert run.returncode == 0, run.stderr
        return run.stdout.splitlines()
    longer = lines(13)
    assert lines(12) == longer[:13] and longer[0].startswith("step 1 loss ")
    first, last = (float(line.split()[3]) for line in (longer[0], longer[12]))
    assert last < first
    run = subprocess.run([program, tmp_path / "absent", "1", tmp_path / "c"], capture_output=True, text=True, env=environment)
    assert run.returncode == 1 and "open: not found: cannot open artifact" in run.stderr


def test_train_step(step):
    twin, feeds, loss, grad = Twin(), batch(), np.zeros((), np.float32), np.zeros((I, O), np.float32)
    for _ in range(5):
        want = twin.step(feeds["x"], feeds["y"])
        step.run("train_step", feeds, {"loss": loss, "grad.w": grad})
        stats = step.stats()
        assert loss == pytest.approx(want["loss"], rel=1e-5) and stats.loss == loss and stats.scale == want["scale"]
        assert stats.grad_norm == pytest.approx(want["grad_norm"], rel=1e-5)
    assert (stats.applied, stats.skipped, stats.iteration, stats.found_inf) == (5, 0, 5, 0)
    np.testing.assert_allclose(step.array("w"), twin.w, rtol=1e-5, atol=1e-6)
    assert np.abs(grad).max() > 0
    # By position, the same.
    step.run("train_step", [feeds["x"], feeds["y"]], [loss])
    assert loss == pytest.approx(twin.step(feeds["x"], feeds["y"])["loss"], rel=1e-5)


def test_inputs_must_fit(step):
    feeds = batch()
    wrong = [(MISMATCH, "'x' is f32[8,4], but f32[4,8] was given", {**feeds, "x": feeds["x"].reshape(4, 8)}),
             (MISMATCH, "'x' is f32[8,4], but f64[8,4] was given", {**feeds, "x": feeds["x"].astype(np.float64)}),
             (INVALID, "was not given the inputs 'y'", {"x": feeds["x"]}), (NOT_FOUND, "has no input 'z'; it has 'x', 'y'", {**feeds, "z": feeds["x"]}),
             (INVALID, "has 2 inputs, but more", [feeds["x"], feeds["y"], feeds["y"]]), (MISMATCH, "'x' is f32[8,4], but i64[8] was given", [feeds["y"], feeds["x"]])]
    before = step.state()
    for status, complaint, inputs in wrong:
        fails(status, complaint, step.run, "train_step", inputs)
    fails(NOT_FOUND, "no output 'w'; it has 'loss'", step.run, "train_step", feeds, {"w": feeds["x"]})
    fails(MISMATCH, "'loss' is f32[]", step.run, "train_step", feeds, {"loss": np.zeros(1, np.float32)})
    fails(NOT_FOUND, "no entry 'fly'; it has 'train_step', 'eval_step', 'infer'", step.run, "fly", feeds)
    for name, array in step.state().items():
        assert np.array_equal(array, before[name]), name


def test_calls_refuse_null(step):
    library, handle = step.library, step.handle
    assert library.amp_open(None, None, None) == INVALID and library.amp_train_step(None, None, ctypes.c_size_t(0), None, ctypes.c_size_t(0)) == INVALID
    bad = ctypes.c_void_p()
    assert library.amp_open(None, None, ctypes.byref(bad)) == INVALID
    assert library.amp_get_stats(bad, None) == INVALID
    library.amp_close(bad), library.amp_close(None)
    for call, complaint in [(lambda: step.call("amp_train_step", None, ctypes.c_size_t(2), None, ctypes.c_size_t(0)), "no buffers"),
                            (lambda: step.call("amp_tensor", None, None), "no name"), (lambda: step.call("amp_tensor", b"w", None), "no place"),
                            (lambda: step.call("amp_save", None, 0), "no path"), (lambda: step.call("amp_get_hyper", b"lr", None), "no place"),
                            (lambda: step.call("amp_save", b"/tmp/x", 64), "unknown flags"), (lambda: step.call("amp_load", b"/tmp/x", 64), "unknown flags"),
                            (lambda: step.call("amp_set_threads", -1), "negative"), (lambda: step.call("amp_get_stats", None), "no place")]:
        fails(INVALID, complaint, call)
    assert handle


def test_views_are_the_memory(step):
    """What is written through a view is what the next step reads."""
    view = step.view("w")
    assert (view.role, view.bytes, view.rank, list(view.shape[:2]), list(view.strides[:2])) == (b"parameter", 48, 2, [I, O], [O, 1])
    assert view.data % 64 == 0
    step.array("w")[:] = 0
    logits, feeds = np.zeros((B, O), np.float32), batch()
    step.run("infer", {"x": feeds["x"]}, {"logits": logits})
    assert (logits == 0).all()
    fails(NOT_FOUND, "no tensor 'v'", step.view, "v")


def test_memory_of_the_caller(step):
    raw = np.zeros(64 + 16, np.float32)
    start = (-raw.ctypes.data % 64) // 4
    mine = raw[start:start + I * O]
    step.call("amp_bind", b"w", ctypes.c_void_p(mine.ctypes.data), ctypes.c_size_t(mine.nbytes))
    assert np.array_equal(mine.reshape(I, O), initial()["w"]), "the value is kept"
    step.run("train_step", batch())
    assert not np.array_equal(mine.reshape(I, O), initial()["w"]) and step.view("w").data == mine.ctypes.data
    after = mine.copy()
    step.call("amp_bind", b"w", None, ctypes.c_size_t(0))
    mine[:] = 0
    assert np.array_equal(step.array("w").ravel(), after)
    bind = lambda name, address, size: step.call("amp_bind", name, ctypes.c_void_p(address), ctypes.c_size_t(size))
    fails(INVALID, "not aligned to 64", bind, b"w", mine.ctypes.data + 4, 48)
    fails(INVALID, "has 47 bytes, but f32[4,3] takes 48", bind, b"w", mine.ctypes.data, 47)
    fails(INVALID, "is no state (role input)", bind, b"x", mine.ctypes.data, 1000)


def test_allocator_of_the_caller(folder):
    """Every block is asked for aligned and given back with its size."""
    blocks, keep = {}, []
    def allocate(context, size, alignment):
        raw = ctypes.create_string_buffer(size + alignment)
        keep.append(raw)
        address = ctypes.addressof(raw) + -ctypes.addressof(raw) % alignment
        blocks[address] = size
        return address
    def release(context, memory, size):
        assert blocks.pop(memory) == size
    settings = Settings(ctypes.sizeof(Settings), 1, ALLOCATE(allocate), RELEASE(release), None)
    step = Step(folder, settings)
    step.run("train_step", batch())
    assert step.view("w").data in blocks and len(blocks) > 10
    step.close()
    assert not blocks
    settings = Settings(ctypes.sizeof(Settings), 1, ALLOCATE(lambda *_: None), RELEASE(release), None)
    fails(6, "no memory for tensor 'w'", Step, folder, settings)
    settings = Settings(3, 1, ALLOCATE(), RELEASE(), None)
    fails(INVALID, "sizeof(amp_options)", Step, folder, settings)


def test_hypers_and_schedule(tmp_path, code):
    form = manifest()
    form["source"]["config"]["schedule"] = {"kind": "step", "step_size": 1, "gamma": 0.5}
    step = Step(write_artifact(tmp_path / "step", code, form))
    def lr():
        found = ctypes.c_double()
        step.call("amp_get_hyper", b"lr", ctypes.byref(found))
        return found.value
    rates = []
    for _ in range(3):
        step.run("train_step", batch())
        rates.append(lr())
    assert rates == [np.float32(0.1), np.float32(0.05), np.float32(0.025)]
    step.call("amp_set_hyper", b"lr", ctypes.c_double(0.25))
    step.run("train_step", batch())
    assert lr() == 0.25
    step.call("amp_save", os.fsencode(tmp_path / "c.safetensors"), 0)
    step.call("amp_follow_schedule")
    assert lr() == np.float32(0.1 / 16)
    step.call("amp_load", os.fsencode(tmp_path / "c.safetensors"), 0)
    step.run("train_step", batch())
    assert lr() == 0.25, "that the rate was set by hand is in the checkpoint"
    fails(NOT_FOUND, "'w' is no hyper-parameter; there are 'lr'", step.call, "amp_set_hyper", b"w", ctypes.c_double(1))
    fails(INVALID, "not finite", step.call, "amp_set_hyper", b"lr", ctypes.c_double(np.nan))
    step.close()


def test_reset_and_threads(step):
    begin = step.state()
    losses = []
    for threads in (1, 2, 0):
        step.call("amp_set_threads", threads)
        for i in range(10):
            step.run("train_step", batch(i))
        losses.append(step.stats().loss)
        state = step.state()
        step.call("amp_reset")
        for name, array in step.state().items():
            assert np.array_equal(array, begin[name]), name
    assert losses[0] == losses[1] == losses[2] and state["train.iteration"] == 10


def test_one_handle_in_many_threads(folder):
    """Calls on one handle run one after the other: no step is lost; other handles do not notice."""
    shared, others = Step(folder), [Step(folder) for _ in range(2)]
    feeds = batch()
    def work(step, count):
        for _ in range(count):
            step.run("train_step", feeds)
            step.stats()
            with pytest.raises(Error):
                step.view("absent")
    threads = [threading.Thread(target=work, args=(shared, 50)) for _ in range(4)] + [threading.Thread(target=work, args=(s, 50)) for s in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.stats().iteration == 200 and [s.stats().iteration for s in others] == [50, 50]
    for step in [shared, *others]:
        step.close()


def test_info(step):
    text = ctypes.c_char_p()
    step.call("amp_info", ctypes.byref(text))
    info = json.loads(text.value)
    assert info["fingerprint"] == FINGERPRINT and info["entries"][0]["inputs"] == ["x", "y"] and info["tensors"][2]["shape"] == [I, O]


def test_failing_entry(tmp_path, code):
    """Entries 'train_step' without a workspace of 64 aligned bytes return 7; here the host's number is wrong instead."""
    source = (ROOT / "test/Inputs/runtime/step.c").read_text().replace("host->abi != AMP_HOST_ABI", "host->abi == AMP_HOST_ABI")
    (tmp_path / "bad.c").write_text(source)
    subprocess.run(["clang-22", "-shared", "-fPIC", f"-I{ROOT}/include", tmp_path / "bad.c", "-o", tmp_path / "bad.so", "-lm"], check=True)
    step = Step(write_artifact(tmp_path / "step", tmp_path / "bad.so"))
    fails(FAILED, "entry 'train_step' failed with code 7", step.run, "train_step", batch())
    step.close()


def test_zip_artifact(folder, tmp_path):
    """An uncompressed zip of the directory is the same artifact."""
    path = tmp_path / "step.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    np.savez(tmp_path / "d.npz", **make_data(96))
    for artifact in (folder, path):
        run = amp_run("train", artifact, "--data", tmp_path / "d.npz", "--save", tmp_path / f"{artifact.name}.safetensors")
        assert run.ok, run.describe()
    assert (tmp_path / "step.safetensors").read_bytes() == (tmp_path / "step.zip.safetensors").read_bytes()
    whole = path.read_bytes()
    for size in (0, 10, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        fails(BAD_FILE, "zip archive", Step, path)
    path.write_bytes(whole.replace(b"amp_train_step", b"amp_train_stop"))
    fails(BAD_FILE, "damaged (checksum)", Step, path)
