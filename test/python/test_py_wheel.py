"""The wheel, in a virtual environment that has numpy and it alone: trains a model there, with the libraries it carries."""
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import ROOT
from test_amp_compile import _data, _model

pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")
if importlib.util.find_spec("build") is None:
    pytest.skip("the package `build` is not installed (utils/requirements.txt)", allow_module_level=True)

TRAIN = """
import re, sys
import numpy as np
import amp_mlir as amp
data = np.load(sys.argv[2])
step = amp.compile_training(sys.argv[1], loss={"mse": {"logits": "y", "labels": "labels"}}, optimizer=amp.SGD(lr=0.125), bind={"batch": 8},
                            autocast=amp.autocast("cuda"), scaler=amp.GradScaler(init_scale=1024.0), cache=False)
losses = [step(data["x"], data["labels"]).loss for _ in range(20)]
assert losses[-1] < losses[0] / 2, losses
assert amp.convert(sys.argv[1], sys.argv[1] + ".f16.onnx").summary["narrow"] > 0
print(amp.__file__)
mapped = {line.split()[-1] for line in open("/proc/self/maps") if re.search(r"\\.so[.0-9]*$", line)}
print(*sorted(mapped), sep="\\n")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    process = subprocess.run([ROOT / "utils/build-wheel", folder, "-C", "compression=0"], capture_output=True, text=True, timeout=900)
    assert process.returncode == 0, process.stdout + process.stderr
    path, = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Runs programs of a new virtual environment, with nothing of this one in their environment."""
    folder = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python", folder / "bin/python", "install", "--no-deps",
                    "--no-index", wheel], check=True)
    import numpy
    site = next((folder / "lib").iterdir()) / "site-packages"
    for name in "numpy", "numpy.libs":
        if (Path(numpy.__file__).parent.parent / name).exists():
            shutil.copytree(Path(numpy.__file__).parent.parent / name, site / name)

    def run(program, *arguments):
        process = subprocess.run([folder / "bin" / program, *arguments], capture_output=True, text=True, timeout=300, cwd=folder,
                                 env={"PATH": "/usr/bin:/bin", "HOME": str(folder)})
        assert process.returncode == 0, process.stderr
        return process.stdout

    run.folder = folder
    return run


def test_trains_without_llvm_of_the_system(environment, tmp_path):
    _model(tmp_path / "m.onnx")
    _data(tmp_path / "d.npz")
    home, *mapped = environment("python", "-c", TRAIN, str(tmp_path / "m.onnx"), str(tmp_path / "d.npz")).splitlines()
    assert home.startswith(str(environment.folder))
    # Modules of Python's own may have loaded the system's zlib, lzma and the like before.
    own = [path for path in mapped if os.path.basename(path).startswith(("libMLIR", "libLLVM", "libamp", "libz3", "libprotobuf", "libxml2"))]
    assert len(own) >= 6 and all(path.startswith(str(environment.folder)) for path in own), own


def test_programs_are_on_the_path(environment, tmp_path):
    _model(tmp_path / "m.onnx")
    assert "amp-opt 0.1.0" in environment("amp-opt", "--version")
    environment("amp-opt", str(tmp_path / "m.onnx"), "--autocast=dtype=bf16", "-o", str(tmp_path / "half.onnx"))
    assert (tmp_path / "half.onnx").stat().st_size > 0
    assert "logits" in environment("amp-compile", "--init-config", str(tmp_path / "m.onnx"))
    assert "amp-run" in environment("amp-run", "--help")


def test_what_the_wheel_holds(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert "manylinux" in wheel.name and (f"cp{sys.version_info.major}{sys.version_info.minor}" in wheel.name or "abi3" in wheel.name)
    for name in ("py.typed", "_amp.pyi", "_runtime.pyi", "lib/libamp_runtime.so", "include/amp-c/amp.h", "report/report.html", "bin/amp-opt"):
        assert f"amp_mlir/{name}" in names
    assert not any("__pycache__" in name for name in names)
