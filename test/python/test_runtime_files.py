"""What the runtime reads and writes: manifests, checkpoints and data, right and wrong; NumPy, safetensors, torch and onnx are the judges."""
import copy
import io
import json
import random
import struct
import zipfile

import numpy as np
import onnx
import pytest
import torch_file
from onnx import TensorProto, helper, numpy_helper

from runtime_artifact import (AMP_RUN, B, FINGERPRINT, I, O, Twin, amp_run, compile_code, initial, make_data, manifest, read_safetensors, safetensors_bytes,
                              write_artifact)

pytestmark = pytest.mark.skipif(not AMP_RUN.is_file(), reason="amp-run is not built")


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return compile_code(tmp_path_factory.mktemp("code"))


@pytest.fixture(scope="module")
def good(tmp_path_factory, code):
    """(artifact, data, checkpoint) that fit each other; not to be changed."""
    folder = tmp_path_factory.mktemp("good")
    step = write_artifact(folder / "step", code)
    np.savez(folder / "d.npz", **make_data(32))
    ok(amp_run("train", step, "--data", folder / "d.npz", "--save", folder / "c.safetensors", "--no-shuffle"))
    return step, folder / "d.npz", folder / "c.safetensors"


def ok(run):
    assert run.ok, run.describe()
    return run


def refused(run, *complaints):
    """Exit code 1, one line of error that says what, no signal."""
    assert run.code == 1 and not run.signal and not run.timed_out, run.describe()
    errors = [line for line in run.stderr.splitlines() if line.startswith("amp-run: error: ")]
    assert len(errors) == 1, run.stderr
    for complaint in complaints:
        assert complaint in errors[0], errors[0]


# ---- the manifest ----

def paths(value, path=()):
    """Every place in a JSON value."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], path + (key,))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from paths(value[index], path + (index,))


def spell(path):
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def replaced(form, path, value):
    form = copy.deepcopy(form)
    parent = form
    for part in path[:-1]:
        parent = parent[part]
    if value is DELETE:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return form


DELETE = object()
FREE = ("source.config", "optimizer.", "scaler.", "autocast.")
OPTIONAL = (".of", ".init.value")


def checked_paths():
    """Places in the manifest whose value is checked (one tensor and one entry stand for all)."""
    for path in paths(manifest()):
        name = spell(path)
        if name.startswith(FREE) and name != "source.config":
            continue
        if path[0] in ("tensors", "entries") and len(path) > 1 and path[1] not in ((0, 2) if path[0] == "tensors" else (0,)):
            continue
        if path[:1] == ("entries",) and len(path) > 3 and path[3] != 0:
            continue
        yield path


@pytest.mark.parametrize("path", [p for p in checked_paths() if isinstance(p[-1], str) and not spell(p).endswith(".of")], ids=spell)
def test_manifest_key_missing(tmp_path, code, path):
    run = amp_run("info", write_artifact(tmp_path / "step", code, replaced(manifest(), path, DELETE)))
    refused(run, "manifest.json", f"key '{path[-1]}' is missing")


@pytest.mark.parametrize("wrong", [None, True, "", -1, 1.5, [], {}, 2**63, "\0", "../x"], ids=repr)
@pytest.mark.parametrize("path", list(checked_paths()), ids=spell)
def test_manifest_value_wrong(tmp_path, code, path, wrong):
    """A wrong value is refused by a message that names its place, or means the same as a right one."""
    form = replaced(manifest(), path, wrong)
    original = manifest()
    for part in path:
        original = original[part]
    name = spell(path)
    free_text = isinstance(original, str) and isinstance(wrong, str) and path[-1] in ("version", "cpu", "features", "model", "of", "name", "symbol", "init")
    fits = (isinstance(original, dict) and wrong == {} and path[0] != "target") or (path[-1] == "workspace" and wrong == 0)
    run = amp_run("info", write_artifact(tmp_path / "step", code, form))
    assert not run.signal and run.code in (0, 1), run.describe()
    if run.code == 0:
        assert free_text or fits or name.startswith(("tensors[0].of", "tensors[2].of", "tensors[2].init.value")) or path[-1] == "accumulate" \
            or name.endswith("shape") or "features" in name, name
    else:
        refused(run, "artifact ")
        if not free_text:
            assert "manifest.json" in run.stderr or "init.safetensors" in run.stderr or "train.json" in run.stderr, run.stderr


def bounds(**changes):
    return {"node": "loss", "low": 0, "high": 2, "begin": [0], "end": [8], **changes}


@pytest.mark.parametrize("change,complaint", [
    (lambda m: m.update(abi=2), "the artifact has ABI 2, this runtime reads ABI 1"),
    (lambda m: m["target"].update(kind="rocm"), "runs 'cpu' and 'cuda' artifacts, this one is 'rocm'"),
    (lambda m: m["target"].update(features="+sse2,+avx99,+amx-fp99"), "this CPU lacks the features 'avx99', 'amx-fp99'"),
    (lambda m: m.update(fingerprint="abc"), "fingerprint: expected 64 hexadecimal digits"),
    (lambda m: m["tensors"][3].update(name="w"), "tensors[3].name: there is another tensor 'w'"),
    (lambda m: m["tensors"][2].update(role="weight"), "tensors[2].role: there is no role 'weight'"),
    (lambda m: m["tensors"][2].update(dtype="f8"), "no element type 'f8'"),
    (lambda m: m["tensors"][2].update(shape=[2**40, 2**40]), "'w' is larger than memory can be"),
    (lambda m: m["tensors"][2].update(shape=[-1, 3]), "tensors[2].shape[0]: expected an integer from 0"),
    (lambda m: m["tensors"][2].update(shape=[1] * 65), "more than 64 dimensions"),
    (lambda m: m["tensors"][2].update(shape=[3, 4]), "initial value 'w' is f32[4,3], but tensor 'w' is f32[3,4]"),
    (lambda m: m["tensors"][2].update(init="v"), "initial value 'v' of 'w' is missing"),
    (lambda m: m["tensors"][4].update(of="v"), "tensors[4].of: there is no tensor 'v'"),
    (lambda m: m["tensors"][4].update(shape=[2**20, 2**20, 64]), "no memory for tensor 'momentum_buffer.w'"),
    (lambda m: [m["tensors"].append({**m["tensors"][4], "name": f"big{i}", "shape": [2**36]}) for i in range(40)], "no memory for tensor 'big"),
    (lambda m: m["tensors"][7].update(init={"value": 0.5}), "'scaler.growth_tracker' holds 0.500000, which is no value of i32"),
    (lambda m: m["tensors"][11].update(dtype="f64"), "hyper-parameter 'lr' is to be f32[], but is f64[]"),
    (lambda m: m["tensors"][12].update(init="w"), "tensors[12].init: 'loss' is no state"),
    (lambda m: m["entries"][0]["tensors"].append(99), "entries[0].tensors[16]: there is no tensor 99: the artifact has 18"),
    (lambda m: m["entries"][0]["tensors"].append(3), "tensor 3 occurs twice"),
    (lambda m: m["entries"][1].update(name="train_step"), "there is another entry 'train_step'"),
    (lambda m: m["entries"][0].update(symbol="amp_fly"), "has no symbol 'amp_fly', which the manifest names for entry 'train_step'"),
    (lambda m: m["entries"][0].update(symbol="a b"), "'a b' is no symbol"),
    (lambda m: m["entries"][0].update(workspace=2**50), "no memory for the workspace"),
    (lambda m: m.update(entries=[]), "the artifact has no entry"),
    (lambda m: m.update(code="/bin/ls"), "no name of a file in the artifact"), (lambda m: m.update(init="../init"), "no name of a file in the artifact"),
    (lambda m: m.update(code="absent.so"), "absent.so"), (lambda m: m.update(init="absent"), "absent"),
    (lambda m: m["tensors"][0].update(indices=[bounds()]), "tensors[0].indices: 'x' holds no indices: it is f32[8,4]"),
    (lambda m: m["tensors"][1].update(indices=[bounds(end=[9])]), "tensors[1].indices[0].end[0]: expected an integer from 0"),
    (lambda m: m["tensors"][1].update(indices=[bounds(begin=[5], end=[4])]), "tensors[1].indices[0].end[0]: expected an integer from 5"),
    (lambda m: m["tensors"][1].update(indices=[bounds(begin=[0, 0])]), "tensors[1].indices[0].begin: expected a number for each dimension"),
    (lambda m: m["tensors"][1].update(indices=[{"low": 0}]), "tensors[1].indices[0]: key 'node' is missing"),
    (lambda m: m.update(accumulate=0), "accumulate: expected an integer from 1")])
def test_manifest_wrong(tmp_path, code, change, complaint):
    form = manifest()
    change(form)
    refused(amp_run("info", write_artifact(tmp_path / "step", code, form)), complaint)


@pytest.mark.parametrize("text,complaint", [
    ("", "is no JSON"), ("[]", "expected an object"), ("{", "is no JSON"), ('{"abi": 1, "abi": 1}', "key 'abi' occurs twice"),
    ("[" * 5000, "nested deeper than 100 levels"), ('{"format": "zip"}', "expected 'amp-mlir-artifact', but got 'zip'"), ('{"format": "\xff"}', "manifest.json"),
    ('{"abi": 1e999}', "is no JSON")])
def test_manifest_text(tmp_path, code, text, complaint):
    step = write_artifact(tmp_path / "step", code)
    (step / "manifest.json").write_bytes(text.encode("latin-1"))
    refused(amp_run("info", step), complaint)


def test_manifest_truncated(tmp_path, code):
    step = write_artifact(tmp_path / "step", code)
    whole = (step / "manifest.json").read_text()
    for size in range(0, len(whole) - 1, len(whole) // 40):
        (step / "manifest.json").write_text(whole[:size])
        refused(amp_run("info", step), "manifest.json: is no JSON")


def test_code_damaged(tmp_path, code):
    """The loader is never given a file it would die of."""
    step = write_artifact(tmp_path / "step", code)
    whole = code.read_bytes()
    library = step / "libstep.so"
    for size in (0, 3, 63, 64, 1000, len(whole) // 2):
        library.unlink()
        library.write_bytes(whole[:size])
        refused(amp_run("info", step), "libstep.so")
    for offset, byte, complaint in ((4, 1, "no 64-bit"), (18, 183, "another kind of processor"), (0, 0, "no shared library")):
        library.unlink()
        library.write_bytes(whole[:offset] + bytes([byte]) + whole[offset + 1:])
        refused(amp_run("info", step), complaint)


def test_init_damaged(tmp_path, code):
    step = write_artifact(tmp_path / "step", code)
    whole = (step / "init.safetensors").read_bytes()
    for size in range(len(whole)):
        (step / "init.safetensors").write_bytes(whole[:size])
        refused(amp_run("info", step), "init.safetensors")


# ---- checkpoints ----

def load(step, path, *options):
    return amp_run("save", step, "--resume", path, "-o", str(path) + ".again.safetensors", *options)


def as_bytes(arrays, metadata):
    return safetensors_bytes(arrays, metadata)


def test_checkpoint_round_trips(good, tmp_path):
    """safetensors -> npz -> safetensors, and through NumPy's own reader and writer: the same bytes of state."""
    step, _, checkpoint = good
    ok(amp_run("save", step, "--resume", checkpoint, "-o", tmp_path / "c.npz"))
    arrays, _ = read_safetensors(checkpoint)
    with np.load(tmp_path / "c.npz") as archive:
        found = {name: archive[name] for name in archive.files}
    assert set(found) == set(arrays) | {"__metadata__"}
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array), name
    with zipfile.ZipFile(tmp_path / "c.npz") as archive:
        assert archive.testzip() is None and all(row.compress_type == zipfile.ZIP_STORED for row in archive.infolist())
    for name, writer in (("n.npz", np.savez), ("z.npz", np.savez_compressed)):
        writer(tmp_path / name, **found)
        ok(amp_run("save", step, "--resume", tmp_path / name, "-o", tmp_path / "c.safetensors"))
        assert (tmp_path / "c.safetensors").read_bytes() == checkpoint.read_bytes()


def test_checkpoint_read_by_safetensors(good, tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    step, _, checkpoint = good
    found = library.load_file(checkpoint)
    for name, array in read_safetensors(checkpoint)[0].items():
        assert np.array_equal(found[name], array), name
    metadata = read_safetensors(checkpoint)[1]
    library.save_file(found, tmp_path / "c.safetensors", metadata)
    ok(amp_run("save", step, "--resume", tmp_path / "c.safetensors", "-o", tmp_path / "d.safetensors"))
    assert (tmp_path / "d.safetensors").read_bytes() == checkpoint.read_bytes()


def test_checkpoint_truncated(good, tmp_path):
    step, _, checkpoint = good
    whole = checkpoint.read_bytes()
    path = tmp_path / "c.safetensors"
    for size in list(range(0, 40)) + list(range(40, len(whole), 37)) + [len(whole) - 1]:
        path.write_bytes(whole[:size])
        refused(load(step, path), "c.safetensors")
    path.write_bytes(whole + b"x")
    refused(load(step, path), "1 bytes after the last tensor belong to none")


def test_npz_checkpoint_truncated(good, tmp_path):
    step, _, checkpoint = good
    ok(amp_run("save", step, "--resume", checkpoint, "-o", tmp_path / "whole.npz"))
    whole = (tmp_path / "whole.npz").read_bytes()
    path = tmp_path / "c.npz"
    for size in list(range(0, len(whole), 61)) + [len(whole) - 1]:
        path.write_bytes(whole[:size])
        refused(load(step, path), "c.npz")


CHECKPOINT_KEYS = ["model.w", "model.b", "optimizer.momentum_buffer.w", "optimizer.momentum_buffer.b", "scaler.scale", "scaler.growth_tracker",
                   "train.applied_steps", "train.iteration", "train.skipped", "hyper.lr"]


@pytest.mark.parametrize("key", CHECKPOINT_KEYS)
def test_checkpoint_key_wrong(good, tmp_path, key):
    step, _, checkpoint = good
    arrays, metadata = read_safetensors(checkpoint)
    path = tmp_path / "c.safetensors"
    def attempt(changed, *complaints, options=()):
        path.write_bytes(as_bytes(changed, metadata))
        refused(load(step, path, *options), "c.safetensors", *complaints)
    missing = {k: v for k, v in arrays.items() if k != key}
    attempt(missing, f"missing: '{key}'")
    ok_missing = tmp_path / "m.safetensors"
    ok_missing.write_bytes(as_bytes(missing, metadata))
    ok(load(step, ok_missing, "--allow-missing"))
    attempt({**missing, key + "x": arrays[key]}, f"missing: '{key}'", f"'{key}x'")
    attempt({**arrays, key: np.zeros((2, 2), arrays[key].dtype)}, "of the wrong type or shape", key)
    other = np.float16 if arrays[key].dtype.kind == "f" else np.int32 if arrays[key].dtype == np.int64 else np.int64
    attempt({**arrays, key: np.zeros_like(arrays[key], other)}, "of the wrong type or shape", key)


def test_checkpoint_lists_everything_wrong(good, tmp_path):
    step, _, checkpoint = good
    arrays, metadata = read_safetensors(checkpoint)
    del arrays["model.b"], arrays["scaler.scale"]
    arrays |= {"model.v": np.zeros(1, np.float32), "junk": np.zeros(1, np.float32), "model.w": np.zeros((3, 4), np.float32)}
    path = tmp_path / "c.safetensors"
    path.write_bytes(as_bytes(arrays, metadata))
    refused(load(step, path), "'model.w (f32[3,4] instead of f32[4,3])'", "'model.b', 'scaler.scale'", "'junk', 'model.v'")


def test_checkpoint_fingerprint(good, tmp_path, code):
    step, _, checkpoint = good
    form = manifest()
    form["fingerprint"] = "f" * 64
    other = write_artifact(tmp_path / "other", code, form)
    refused(load(other, checkpoint), "saved by another step (fingerprint 0123456789ab, the artifact has ffffffffffff)")
    ok(load(other, checkpoint, "--any-fingerprint"))
    ok(amp_run("save", other, "--weights", checkpoint, "-o", tmp_path / "w.safetensors"))
    saved, wanted = read_safetensors(tmp_path / "w.safetensors")[0], read_safetensors(checkpoint)[0]
    assert np.array_equal(saved["model.w"], wanted["model.w"]) and (saved["optimizer.momentum_buffer.w"] == 0).all()
    arrays, metadata = read_safetensors(checkpoint)
    del metadata["fingerprint"]
    path = tmp_path / "c.safetensors"
    path.write_bytes(as_bytes(arrays, metadata))
    refused(load(step, path), "has no fingerprint")


def header_of(arrays):
    raw = as_bytes(arrays, None)
    length, = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8:8 + length]), raw[8 + length:]


@pytest.mark.parametrize("change,complaint", [
    (lambda h: h["model.w"].pop("dtype"), "key 'dtype' is missing"), (lambda h: h["model.w"].pop("shape"), "key 'shape' is missing"),
    (lambda h: h["model.w"].pop("data_offsets"), "key 'data_offsets' is missing"), (lambda h: h["model.w"].update(dtype="F4"), "element type 'F4'"),
    (lambda h: h["model.w"].update(shape=[4, -3]), "expected an integer"), (lambda h: h["model.w"].update(shape=[2**62, 2**62]), "does not take 48 bytes"),
    (lambda h: h["model.w"].update(shape=[4, 2]), "does not take 48 bytes"), (lambda h: h["model.w"].update(data_offsets=[0]), "two offsets"),
    (lambda h: h["model.w"].update(data_offsets=[8, 0]), "expected an integer from 0 to 0"), (lambda h: h["model.w"].update(data_offsets=[0, 2**40]), "truncated"),
    (lambda h: h["model.b"].update(data_offsets=[44, 56]), "overlaps"), (lambda h: h.pop("model.w"), "leaves a hole"),
    (lambda h: h.update(__metadata__={"a": 1}), "expected a string"), (lambda h: h.update(__metadata__=[]), "expected an object"),
    (lambda h: h.update(x=5), "expected an object")])
def test_safetensors_header_wrong(good, tmp_path, change, complaint):
    header, data = header_of({"model.w": initial()["w"], "model.b": initial()["b"]})
    change(header)
    text = json.dumps(header).encode()
    (tmp_path / "c.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    refused(amp_run("info", good[0], "--weights", tmp_path / "c.safetensors"), "c.safetensors", complaint)


def test_safetensors_duplicate_key(good, tmp_path):
    text = b'{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
    (tmp_path / "c.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    refused(amp_run("info", good[0], "--weights", tmp_path / "c.safetensors"), "key 'w' occurs twice")


@pytest.mark.parametrize("suffix", ["safetensors", "npz", "pt"])
def test_damaged_bytes_never_crash(good, tmp_path, suffix):
    """300 files with bytes changed at random: loaded or refused with a message."""
    rng = random.Random(7)
    if suffix == "pt":
        whole = torch_file.forge(initial())
    else:
        ok(amp_run("save", good[0], "--resume", good[2], "-o", tmp_path / f"whole.{suffix}"))
        whole = (tmp_path / f"whole.{suffix}").read_bytes()
    path = tmp_path / f"c.{suffix}"
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2, 8))):
            damaged[rng.randrange(len(damaged)) if rng.random() < 0.4 else rng.randrange(min(600, len(damaged)))] = rng.randrange(256)
        path.write_bytes(damaged)
        run = amp_run("info", good[0], "--weights", path)
        assert run.code in (0, 1) and not run.signal, run.describe()


def test_weights_with_cast(good, tmp_path):
    """Half weights fill float32 parameters only when asked to; plain names are understood."""
    half = {k: v.astype(np.float16) for k, v in initial().items()}
    path = tmp_path / "w.safetensors"
    path.write_bytes(safetensors_bytes(half))
    refused(amp_run("info", good[0], "--weights", path), "casting would make these fit: 'w', 'b'")
    ok(amp_run("save", good[0], "--weights", path, "--cast", "-o", tmp_path / "c.safetensors"))
    found = read_safetensors(tmp_path / "c.safetensors")[0]
    assert np.array_equal(found["model.w"], half["w"].astype(np.float32))
    refused(load(good[0], path), "holds weights alone")


def test_layout_torch(good, tmp_path):
    step, _, checkpoint = good
    ok(amp_run("save", step, "--resume", checkpoint, "--layout", "torch", "-o", tmp_path / "t.safetensors"))
    arrays, metadata = read_safetensors(tmp_path / "t.safetensors")
    assert set(arrays) == {"w", "b"} and metadata == {"format": "pt"}
    ok(amp_run("save", step, "--weights", tmp_path / "t.safetensors", "-o", tmp_path / "c.safetensors"))
    assert np.array_equal(read_safetensors(tmp_path / "c.safetensors")[0]["model.w"], arrays["w"])


# ---- torch files ----

def weights_from(step, path, tmp_path):
    ok(amp_run("save", step, "--weights", path, "-o", tmp_path / "from.safetensors"))
    return read_safetensors(tmp_path / "from.safetensors")[0]


def test_torch_file_forged(good, tmp_path):
    """Contiguous, transposed and offset views; tensors in a dictionary of dictionaries."""
    arrays, path = initial(), tmp_path / "m.pt"
    path.write_bytes(torch_file.forge(arrays))
    assert np.array_equal(weights_from(good[0], path, tmp_path)["model.w"], arrays["w"])
    wide = np.arange(40, dtype=np.float32)
    root = {"w": torch_file.tensor("0", wide, (I, O), (1, I), 5), "b": torch_file.tensor("0", wide, (O,), (2,), 20)}
    path.write_bytes(torch_file.pack(root, {"0": wide}))
    found = weights_from(good[0], path, tmp_path)
    assert np.array_equal(found["model.w"], wide[5:17].reshape(O, I).T) and np.array_equal(found["model.b"], wide[20:26:2])
    path.write_bytes(torch_file.pack({"model": root, "epoch": 3, "note": "text", "history": [1.5, None, True], "big": 2**40}, {"0": wide}))
    assert np.array_equal(weights_from(good[0], path, tmp_path)["model.b"], wide[20:26:2])


@pytest.mark.parametrize("make,complaint", [
    (lambda a: {"w": torch_file.Call(torch_file.Global("os", "system"), "touch /tmp/amp-pickle-was-executed")}, "wants to use 'os system'"),
    (lambda a: {"w": torch_file.Call(torch_file.Global("builtins", "eval"), "1")}, "'builtins eval'"), (lambda a: {"w": torch_file.Call(torch_file.Global("torch.nn", "Linear"), 1, 2)}, "'torch.nn Linear'"),
    (lambda a: [1, 2], "no dictionary of tensors"), (lambda a: {"w": torch_file.tensor("0", a, (4, 4), (4, 1))}, "reaches past its storage"),
    (lambda a: {"w": torch_file.tensor("0", a, offset=1)}, "reaches past its storage"), (lambda a: {"w": torch_file.tensor("0", a, offset=-1)}, "reaches past its storage"),
    (lambda a: {"w": torch_file.tensor("0", a, (2**40, 2**40), (0, 0))}, "malformed shape"), (lambda a: {"w": torch_file.tensor("0", a, (2**20,), (0,))}, "repeats its elements"),
    (lambda a: {"w": torch_file.tensor("0", a, (4, 3), (2**62, 2**62))}, "reaches past its storage"), (lambda a: {"w": torch_file.tensor("0", a, (4, 3), (3,))}, "malformed shape"),
    (lambda a: {"w": torch_file.tensor("0", a, (-4, 3))}, "shape is malformed"), (lambda a: {"w": torch_file.tensor("9", a)}, "'model/data/9' is missing"),
    (lambda a: {"w": torch_file.tensor("0", a, count=13)}, "does not have the size"), (lambda a: {"w": torch_file.tensor("0", a, storage="ComplexFloatStorage")}, "ComplexFloatStorage"),
    (lambda a: {"w": torch_file.tensor("0", a, storage="HalfStorage")}, "does not have the size")])
def test_torch_file_refused(good, tmp_path, make, complaint):
    array = initial()["w"]
    path = tmp_path / "m.pt"
    path.write_bytes(torch_file.pack(make(array), {"0": array}))
    refused(amp_run("info", good[0], "--weights", path), "m.pt", complaint)


def test_torch_file_that_holds_itself(good, tmp_path):
    root = {"w": torch_file.tensor("0", initial()["w"])}
    root["self"] = root
    path = tmp_path / "m.pt"
    path.write_bytes(torch_file.pack(root, {"0": initial()["w"]}))
    refused(amp_run("info", good[0], "--weights", path), "nested too deep")


def test_torch_file_by_torch(good, tmp_path):
    torch = pytest.importorskip("torch")
    from collections import OrderedDict
    wide = torch.randn(O, I)
    state = OrderedDict(w=wide.t(), b=torch.nn.Parameter(torch.randn(O)))
    for name, value in (("a.pt", state), ("b.pt", {"model": state, "optimizer": {"lr": 0.1, "betas": (0.9, 0.99)}})):
        torch.save(value, tmp_path / name)
        found = weights_from(good[0], tmp_path / name, tmp_path)
        assert np.array_equal(found["model.w"], wide.t().numpy()) and np.array_equal(found["model.b"], state["b"].detach().numpy())
    module = torch.nn.Module()
    module.w, module.b = torch.nn.Parameter(wide.t().contiguous()), torch.nn.Parameter(torch.zeros(O))
    torch.save(module.state_dict(), tmp_path / "c.pt")
    assert np.array_equal(weights_from(good[0], tmp_path / "c.pt", tmp_path)["model.w"], wide.t().numpy())
    norm = torch.nn.BatchNorm1d(3).state_dict()
    torch.save({**module.state_dict(), "bn.num_batches_tracked": norm["num_batches_tracked"]}, tmp_path / "n.pt")
    assert np.array_equal(weights_from(good[0], tmp_path / "n.pt", tmp_path)["model.w"], wide.t().numpy())
    torch.save({**module.state_dict(), "bn.weight": norm["weight"]}, tmp_path / "n.pt")
    refused(amp_run("info", good[0], "--weights", tmp_path / "n.pt"), "unknown to the artifact: 'bn.weight'")
    torch.save(OrderedDict(w=wide.t().contiguous().bfloat16(), b=torch.zeros(O).half()), tmp_path / "h.pt")
    ok(amp_run("save", good[0], "--weights", tmp_path / "h.pt", "--cast", "-o", tmp_path / "h.safetensors"))
    assert np.array_equal(read_safetensors(tmp_path / "h.safetensors")[0]["model.w"], wide.t().bfloat16().float().numpy())
    torch.save(module, tmp_path / "whole.pt")
    refused(amp_run("info", good[0], "--weights", tmp_path / "whole.pt"), "wants to use 'torch.nn.modules.module Module'", "nothing is executed")


def test_torch_reads_what_is_saved(good, tmp_path):
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("safetensors.torch")
    ok(amp_run("save", good[0], "--resume", good[2], "--layout", "torch", "-o", tmp_path / "t.safetensors"))
    module = torch.nn.Module()
    module.w, module.b = torch.nn.Parameter(torch.zeros(I, O)), torch.nn.Parameter(torch.zeros(O))
    module.load_state_dict(library.load_file(tmp_path / "t.safetensors"))
    assert np.array_equal(module.w.detach().numpy(), read_safetensors(good[2])[0]["model.w"])


# ---- data ----

def losses(step, tmp_path, *files):
    run = ok(amp_run("train", step, "--no-shuffle", "--log", tmp_path / "log.jsonl", *[part for file in files for part in ("--data", file)]))
    return [json.loads(line)["loss"] for line in (tmp_path / "log.jsonl").read_text().splitlines()], run.stderr


def test_data_formats_agree(good, tmp_path):
    """npz (stored, deflated), npy files, safetensors and csv (named, unnamed) of the same numbers give the same losses."""
    step, arrays = good[0], make_data(32)
    np.savez(tmp_path / "a.npz", **arrays)
    want, _ = losses(step, tmp_path, tmp_path / "a.npz")
    np.savez_compressed(tmp_path / "b.npz", **arrays)
    np.save(tmp_path / "x.npy", np.asfortranarray(arrays["x"])), np.save(tmp_path / "y.npy", arrays["y"].astype(np.int16))
    (tmp_path / "c.safetensors").write_bytes(safetensors_bytes(arrays))
    table = [[*(f"{v:.9g}" for v in x), str(y)] for x, y in zip(arrays["x"], arrays["y"])]
    rows = "\n".join(",".join(row) for row in table) + "\n"
    (tmp_path / "named.csv").write_text("x[0],x[1],x[2],x[3],y\n" + rows)
    (tmp_path / "dots.csv").write_text('"y","x.0",x.1,x.2,x.3\r\n' + "".join(",".join([r[-1], *r[:-1]]) + "\r\n" for r in table))
    (tmp_path / "plain.csv").write_text(rows)
    for files in (["b.npz"], ["x.npy", "y.npy"], ["c.safetensors"], ["named.csv"], ["dots.csv"], ["plain.csv"]):
        found, text = losses(step, tmp_path, *[tmp_path / f for f in files])
        assert found == want, files
    assert "input 'x' takes columns 1 to 4" in text and "input 'y' takes columns 5 to 5" in text


def test_data_matched_by_shape_or_position(good, tmp_path):
    step, arrays = good[0], make_data(32)
    want, _ = losses(step, tmp_path, good[1])
    np.savez(tmp_path / "a.npz", images=arrays["x"].reshape(32, 2, 2), digits=arrays["y"].reshape(32, 1).astype(np.uint8), spare=np.zeros((3, 5)))
    found, text = losses(step, tmp_path, tmp_path / "a.npz")
    assert found == want
    assert "input 'x' takes array 'images' (by shape)" in text and "input 'y' takes array 'digits' (by shape)" in text and "array 'spare' is not used" in text
    assert "array 'images' (f32[32,2,2]) is read as rows of f32[8,4]" in text
    np.savez(tmp_path / "b.npz", x=arrays["x"].astype(np.float64), y=arrays["y"])
    found, text = losses(step, tmp_path, tmp_path / "b.npz")
    assert found == want and "array 'x' is rounded from f64 to f32" in text


@pytest.mark.parametrize("change,complaint", [
    (lambda a: a.pop("y"), "no array 'y' for the input of that name (i64[8]); arrays not used yet: none"),
    (lambda a: a.update(x=a["x"][:, :3]), "array 'x' is f32[32,3], which cannot be rows of input 'x' (f32[8,4])"),
    (lambda a: a.update(y=a["y"][:20]), "array 'y' has 20 rows, but 'x' has 32"), (lambda a: a.update(y=a["y"] * 0 + 0.5), "holds 0.500000, which is no value of i64"),
    (lambda a: a.update(y=a["y"].astype(np.uint64) + 2**63), "more than i64 can"), (lambda a: a.update(x=np.float32(3)), "cannot be rows of"),
    (lambda a: a.update(x=a["x"][:0], y=a["y"][:0]), "the data has no rows"), (lambda a: a.update(x=a["x"].astype(np.complex64)), "element type '<c8' is not supported"),
    (lambda a: a.update(x=np.array([{}] * 32)), "pickled objects are never read"), (lambda a: a.update(x=a["x"].astype(">f4")), "is big-endian"),
    (lambda a: a.update(x=np.zeros(32, [("a", "f4"), ("b", "f4")])), "has records")])
def test_data_wrong(good, tmp_path, change, complaint):
    arrays = make_data(32)
    change(arrays)
    np.savez(tmp_path / "d.npz", **arrays)
    refused(amp_run("train", good[0], "--data", tmp_path / "d.npz"), complaint)


@pytest.mark.parametrize("text,complaint", [
    ("", "has no rows"), ("x,y\n", "has no rows"), ("1,2,3\n", "the table has 3 columns and no names; the inputs take 5"),
    ("1,2,3,4,5\n1,2,3,4\n", "line 2: has 4 cells, the first line has 5"), ("1,2,3,4,5\n1,2,3,4,red\n", "line 2, column 5: 'red' is no number"),
    ("x[0],x[2],x[1],x[3],y\n1,2,3,4,5\n", "column 'x[2]' occurs twice or out of order"), ("x[0],x[1],x[2],x[3],x[3]\n1,2,3,4,5\n", "occurs twice"),
    ("1,2,3,4,\n", "has no rows")])
def test_csv_wrong(good, tmp_path, text, complaint):
    (tmp_path / "d.csv").write_text(text)
    refused(amp_run("train", good[0], "--data", tmp_path / "d.csv"), complaint)


def npy(header, data=b""):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize("raw,complaint", [
    (b"\x93NUMPY", "is no npy array"), (b"\x93NUMPY\x09\x00aaaaaaa", "npy version 9 is unknown"), (npy("{'descr': '<f4'}"), "lacks 'descr'"),
    (npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}"), "neither True nor False"), (npy("{'descr': '<f4', 'descr': '<f4'}"), "twice"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "too large"), (npy("{'a': 1}"), "unknown key 'a'"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"), "does not take"), (npy("{'descr: 1}"), "does not end"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", b"1234"), "f32[2] does not take 4 bytes"), (npy("{'descr': '<f4', 'shape': (1"), "lacks a"),
    (b"\x93NUMPY\x01\x00\xff\xff{}", "header is truncated")])
def test_npy_wrong(good, tmp_path, raw, complaint):
    (tmp_path / "x.npy").write_bytes(raw)
    refused(amp_run("train", good[0], "--data", tmp_path / "x.npy"), complaint)


def test_data_files_wrong(good, tmp_path):
    refused(amp_run("train", good[0], "--data", tmp_path / "absent.npz"), "absent.npz", "No such file")
    refused(amp_run("train", good[0], "--data", tmp_path), "Is a directory")
    refused(amp_run("train", good[0], "--data", good[1], "--data", good[1]), "another file has an array 'x', too")
    (tmp_path / "empty.npz").write_bytes(b"")
    refused(amp_run("train", good[0], "--data", tmp_path / "empty.npz"), "empty.npz")


def test_zip_claims_too_much(good, tmp_path):
    """A member that says it unpacks to terabytes is refused before memory is asked for."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"0" * 1000)
    raw = bytearray(file.getvalue())
    at = raw.rfind(b"PK\x01\x02")
    raw[at + 24:at + 28] = struct.pack("<I", 0xfffffff0)
    (tmp_path / "d.npz").write_bytes(raw)
    refused(amp_run("train", good[0], "--data", tmp_path / "d.npz"), "cannot be as large as it says")


# ---- ONNX ----

def make_onnx(path, arrays, dtype=None, **options):
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["logits"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", I])], [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", O])],
                              [numpy_helper.from_array(a.astype(dtype or a.dtype), n) for n, a in arrays.items()], doc_string="kept")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="test")
    onnx.save(model, path, **options)
    return model


def export(good, source, target):
    return amp_run("export-onnx", good[0], "--weights", good[2], "--model", source, "-o", target)


def test_export_onnx(good, tmp_path):
    """Only the data of the initializers differs: byte for byte the same model otherwise."""
    make_onnx(tmp_path / "m.onnx", {**initial(), "spare": np.arange(5)})
    ok(export(good, tmp_path / "m.onnx", tmp_path / "t.onnx"))
    before, after = onnx.load(tmp_path / "m.onnx"), onnx.load(tmp_path / "t.onnx")
    trained = read_safetensors(good[2])[0]
    for tensor in after.graph.initializer:
        want = trained.get("model." + tensor.name, np.arange(5))
        assert np.array_equal(numpy_helper.to_array(tensor), want)
    old, new = (tmp_path / "m.onnx").read_bytes(), (tmp_path / "t.onnx").read_bytes()
    for name, array in initial().items():
        old = old.replace(array.tobytes(), trained["model." + name].tobytes())
    assert old == new and before.graph.doc_string == after.graph.doc_string


def test_export_onnx_runs(good, tmp_path):
    session = pytest.importorskip("onnxruntime")
    make_onnx(tmp_path / "m.onnx", initial())
    ok(export(good, tmp_path / "m.onnx", tmp_path / "t.onnx"))
    data = make_data(32)
    np.savez(tmp_path / "x.npz", x=data["x"])
    ok(amp_run("infer", good[0], "--weights", good[2], "--data", tmp_path / "x.npz", "-o", tmp_path / "y.npz"))
    want = session.InferenceSession(str(tmp_path / "t.onnx")).run(None, {"x": data["x"]})[0]
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["logits"], want, rtol=1e-5, atol=1e-5)


def test_export_onnx_forms(good, tmp_path):
    """float_data stays float_data, half initializers stay half, external ones go to a file of their own."""
    trained = read_safetensors(good[2])[0]
    model = make_onnx(tmp_path / "m.onnx", initial())
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor).ravel().tolist()
        tensor.ClearField("raw_data")
        tensor.float_data.extend(values)
    onnx.save(model, tmp_path / "f.onnx")
    ok(export(good, tmp_path / "f.onnx", tmp_path / "t.onnx"))
    found = onnx.load(tmp_path / "t.onnx").graph.initializer[0]
    assert len(found.float_data) == I * O and np.array_equal(numpy_helper.to_array(found), trained["model.w"])
    make_onnx(tmp_path / "h.onnx", initial(), np.float16)
    ok(export(good, tmp_path / "h.onnx", tmp_path / "t.onnx"))
    assert np.array_equal(numpy_helper.to_array(onnx.load(tmp_path / "t.onnx").graph.initializer[0]), trained["model.w"].astype(np.float16))
    (tmp_path / "out").mkdir()
    make_onnx(tmp_path / "e.onnx", {**initial(), "spare": np.arange(5.0)}, save_as_external_data=True, location="e.bin", size_threshold=0)
    before = (tmp_path / "e.bin").read_bytes()
    ok(export(good, tmp_path / "e.onnx", tmp_path / "out" / "t.onnx"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["t.onnx", "t.onnx.data"] and (tmp_path / "e.bin").read_bytes() == before
    found = {t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "out" / "t.onnx").graph.initializer}
    assert np.array_equal(found["w"], trained["model.w"]) and np.array_equal(found["spare"], np.arange(5.0))


def test_export_onnx_wrong(good, tmp_path):
    target = tmp_path / "t.onnx"
    make_onnx(tmp_path / "m.onnx", {"w": initial()["w"]})
    refused(export(good, tmp_path / "m.onnx", target), "the model has no initializer for 'b'")
    make_onnx(tmp_path / "m.onnx", {"w": initial()["w"].T, "b": initial()["b"]})
    refused(export(good, tmp_path / "m.onnx", target), "initializer 'w' is f32[3,4], but the weight is f32[4,3]")
    refused(amp_run("export-onnx", good[0], "--weights", good[2], "-o", target), "'model.onnx' is not there any more; name it with --model")
    make_onnx(tmp_path / "m.onnx", initial())
    whole = (tmp_path / "m.onnx").read_bytes()
    for size in range(0, len(whole) - 1, 7):
        (tmp_path / "c.onnx").write_bytes(whole[:size])
        run = export(good, tmp_path / "c.onnx", target)
        assert run.code in (0, 1) and not run.signal, run.describe()
    refused(export(good, good[2], target), "is no ONNX model")
    make_onnx(tmp_path / "e.onnx", initial(), save_as_external_data=True, location="e.bin", size_threshold=0)
    raw = (tmp_path / "e.onnx").read_bytes()
    assert target.exists() is False or target.stat().st_size > 0
    (tmp_path / "x.onnx").write_bytes(raw)
    ok(export(good, tmp_path / "x.onnx", target))
