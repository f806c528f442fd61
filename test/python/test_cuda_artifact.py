"""CUDA artifacts: what is in the folder, what ptxas made of it, and what is said when something is missing."""
import json
import re
import shutil
import subprocess

import pytest

from cuda import BIN, EMULATOR, Workshop, run

PTXAS = shutil.which("ptxas") or next((p for p in ["/usr/local/cuda/bin/ptxas"] if shutil.which(p)), None)
needs_ptxas = pytest.mark.skipif(not PTXAS, reason="there is no ptxas")
needs_emulator = pytest.mark.skipif(not EMULATOR.exists(), reason="the emulator is not built (utils/build)")
CONFIG = {"autocast": {"dtype": "f16", "policy": "balanced"}, "optimizer": {"sgd": {"lr": 0.1}}}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    shop = Workshop(tmp_path_factory.mktemp("mlp"), "mlp", CONFIG)
    shop.step = shop.compile("step", "--target=cuda")
    return shop


def train(shop, step, *options, **environment):
    return run(BIN / "amp-run", "train", step, "--data", shop.folder / "data.npz", "--steps", "1", *options, ok=False, **environment)


def test_folder(shop):
    """Each kernel that an entry launches has its PTX; edges go backwards; nothing else is there."""
    manifest = json.loads((shop.step / "manifest.json").read_text())
    assert manifest["target"] == {"kind": "cuda", "chips": []} and "code" not in manifest
    files = {f"kernels/{path.name}" for path in (shop.step / "kernels").iterdir()}
    assert files == {kernel["ptx"] for kernel in manifest["kernels"]}
    for kernel in manifest["kernels"]:
        text = (shop.step / kernel["ptx"]).read_text()
        assert re.search(rf"\.visible \.entry {kernel['name']}\(", text) and ".target sm_80" in text and len(re.findall(r"\.entry", text)) == 1
    launched = set()
    for entry in manifest["entries"]:
        for number, node in enumerate(entry["nodes"]):
            assert all(other < number for other in node["after"])
            launched.add(node.get("kernel"))
    assert launched - {None} == set(range(len(manifest["kernels"])))


def test_replaces_an_artifact_whole(shop):
    """Kernels of an older artifact go, files of the user's stay."""
    step = shop.compile("again", "--target=cuda")
    (step / "kernels/old.ptx").write_text("")
    (step / "notes.txt").write_text("mine")
    shop.compile("again", "--cpu=x86-64-v3")
    assert (step / "libstep.so").exists() and (step / "notes.txt").read_text() == "mine" and not (step / "kernels").exists()
    shop.compile("again", "--target=cuda")
    assert not (step / "libstep.so").exists() and not (step / "kernels/old.ptx").exists()


def test_compiles_to_the_same_bytes(shop):
    other = shop.compile("other", "--target=cuda", "--jobs=1")
    for path in shop.step.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (other / path.relative_to(shop.step)).read_bytes(), path


@needs_ptxas
def test_ptxas_and_its_cache(shop):
    """Binaries for each chip, without spills in specialised kernels; taken from the cache the second time; what each needs is reported."""
    arguments = [BIN / "amp-compile", shop.folder / "model.onnx", "--training", shop.folder / "train.json", "--target=cuda:sm_80,sm_90a", "-o"]
    cache, report = shop.folder / "cache", shop.folder / "kernels"
    run(*arguments, shop.folder / "binary", f"--print-kernels={report}", XDG_CACHE_HOME=cache)
    kept = sorted(path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file())
    described = json.loads((report / "kernels.json").read_text())
    assert len(kept) <= 2 * len(described["kernels"])
    for kernel in described["kernels"]:
        assert (report / f"{kernel['name']}.ptx").exists() and kernel["launches"] > 0 and kernel["predicted_us"] > 0
        assert [binary["chip"] for binary in kernel["binaries"]] == ["sm_80", "sm_90a"]
        for binary in kernel["binaries"]:
            assert 0 < binary["registers"] <= 255 and binary["instructions"]["EXIT"] >= 1
            assert kernel["generic"] or binary["spills"] == 0 and not {"LDL", "STL"} & binary["instructions"].keys()
            assert (shop.folder / "binary/kernels" / f"{kernel['name']}.{binary['chip']}.cubin").read_bytes()[:4] == b"\x7fELF"
    run(*arguments, shop.folder / "cached", XDG_CACHE_HOME=cache)
    assert kept == sorted(path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file())
    for path in (shop.folder / "binary/kernels").iterdir():
        assert path.read_bytes() == (shop.folder / "cached/kernels" / path.name).read_bytes()
    # A damaged file is made anew.
    for path in cache.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:40])
    run(*arguments, shop.folder / "mended", XDG_CACHE_HOME=cache)
    assert all((shop.folder / "mended/kernels" / path.name).read_bytes() == path.read_bytes() for path in (shop.folder / "binary/kernels").iterdir())


@needs_ptxas
@needs_emulator
def test_emulator_takes_the_ptx_of_an_artifact_with_binaries(shop):
    step = shop.compile("both", "--target=cuda:sm_80")
    _, have = shop.emulate(step, 2)
    _, want = shop.emulate(shop.step, 2)
    assert [k for k in want if k.startswith("model.") and want[k].tobytes() != have[k].tobytes()] == []


@pytest.mark.parametrize("options, complaint", [
    (["--target=cuda:sm_75"], "sm_75 is too old; the least is sm_80"),
    (["--target=cuda:h200"], "'h200' is no chip"),
    (["--target=tpu"], "there is no target 'tpu'"),
    (["--target=cuda:sm_80", "--ptxas=/no/such/ptxas"], "there is no program '/no/such/ptxas'"),
    (["--target=cuda:sm_80", "--ptxas=/bin/true"], "'/bin/true' is no ptxas"),
    (["--target=cuda", "--cpu=znver4"], "--cpu is for --target=cpu"),
    (["--generic-kernels"], "are for --target=cuda"),
])
def test_refused_options(shop, options, complaint):
    text = run(BIN / "amp-compile", shop.folder / "model.onnx", "--training", shop.folder / "train.json", "-o", shop.folder / "none", *options, ok=False)
    assert complaint in text
    assert not (shop.folder / "none").exists()


def test_without_ptxas_there_is_ptx(shop):
    """A remark says so. The driver compiles it."""
    if shutil.which("/usr/local/cuda/bin/ptxas"):
        pytest.skip("there is a ptxas where it is looked for without PATH")
    text = run(BIN / "amp-compile", shop.folder / "model.onnx", "--training", shop.folder / "train.json", "-o", shop.folder / "plain", "--target=cuda:sm_80", PATH="")
    assert "remark: there is no ptxas" in text
    assert not list((shop.folder / "plain/kernels").glob("*.cubin"))


def test_no_driver(shop):
    text = train(shop, shop.step, "--cuda-driver=/no/such/libcuda.so")
    assert "the driver '/no/such/libcuda.so' cannot be loaded" in text and "emulator" in text


def test_no_system_driver(shop):
    import ctypes
    try:
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("there is a CUDA driver")
    except OSError:
        pass
    text = train(shop, shop.step)
    assert "libcuda.so.1" in text and "--cuda-driver=" in text


def test_library_that_is_no_driver(shop):
    text = train(shop, shop.step, "--cuda-driver=libm.so.6")
    assert "has no function cuInit" in text and "install a newer driver" in text


@needs_emulator
def test_old_gpu(shop):
    text = train(shop, shop.step, "--cuda-driver=emulator", AMP_EMULATOR_CC=75)
    assert "compute capability 7.5" in text and "8.0" in text


@needs_emulator
@pytest.mark.parametrize("change, complaint", [
    (lambda m: m["entries"][0]["nodes"][1].update(after=[1]), "a node follows earlier ones only"),
    (lambda m: m["entries"][0]["nodes"][0].update(kernel=9999), "there is no kernel 9999"),
    (lambda m: m["entries"][0]["nodes"][0].update(block=[2048, 1, 1]), "nodes[0].block[0]"),
    (lambda m: m["entries"][0]["nodes"][0].update(buffers=[9999]), "the entry has no tensor 9999"),
    (lambda m: m["entries"][0]["nodes"][0].update(buffers=[{"arena": 1 << 40}]), "is outside of the entry's workspace"),
    (lambda m: m["kernels"][0].update(ptx="kernels/../../x"), "is no file in the artifact's kernels/"),
    (lambda m: m["kernels"][0].update(ptx="kernels/missing.ptx"), "missing.ptx"),
])
def test_damaged_manifests(shop, tmp_path, change, complaint):
    step = tmp_path / "step"
    shutil.copytree(shop.step, step)
    manifest = json.loads((step / "manifest.json").read_text())
    change(manifest)
    (step / "manifest.json").write_text(json.dumps(manifest))
    assert complaint in train(shop, step, "--cuda-driver=emulator")


@needs_emulator
def test_damaged_kernel(shop, tmp_path):
    step = tmp_path / "step"
    shutil.copytree(shop.step, step)
    path = next((step / "kernels").glob("*.ptx"))
    path.write_text(path.read_text().replace("ret;", "frobnicate.u32 %r1, %r2;"))
    text = train(shop, step, "--cuda-driver=emulator")
    assert path.name in text and "frobnicate" in text


@needs_emulator
def test_cpu_and_cuda_have_the_same_tensors_but_not_the_fingerprint(shop):
    def info(step, *options):
        return json.loads(subprocess.run([BIN / "amp-run", "info", step, "--json", *options], capture_output=True, text=True, check=True).stdout)
    have, want = info(shop.step, "--cuda-driver=emulator"), info(shop.compile("cpu"))
    state = lambda i: sorted((t["name"], t["role"], t["dtype"], t["shape"]) for t in i["tensors"] if t["role"] != "constant")
    assert state(have) == state(want) and have["target"] == "cuda" and have["fingerprint"] != want["fingerprint"]
