"""The build backend of pyproject.toml: packs what utils/build made into a wheel.

The wheel carries the package, the programs, libamp_runtime, and the libraries of LLVM and others that they load, so that it needs
the C and C++ libraries and numpy alone. Settings (`-C name=value`): build, the build folder (build); compression, zip's level (6).
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ["amp-opt", "amp-compile", "amp-run", "amp-lsp-server", "amp-reduce"]
# What every Linux with a C++ compiler's runtime has.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)|ld-linux-x86-64|linux-vdso)\.so")


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("the sources are built with utils/build; make the wheel alone: utils/build-wheel")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = config_settings or {}
    build = ROOT / settings.get("build", "build")
    level = int(settings.get("compression", 6))
    version = re.search(r"project\(amp-mlir VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    with tempfile.TemporaryDirectory() as work:
        stage = Path(work)
        subprocess.run(["cmake", "--install", build, "--component", "wheel", "--prefix", stage / "amp_mlir", "--strip"], check=True,
                       stdout=subprocess.DEVNULL)
        _copy_libraries(stage / "amp_mlir")
        tag = _tag(stage / "amp_mlir")
        _write_info(stage / f"amp_mlir-{version}.dist-info", version, tag)
        name = f"amp_mlir-{version}-{tag}.whl"
        _zip(stage, Path(wheel_directory) / name, level)
    return name


def _tag(package):
    module, = package.glob("_amp.*.so")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    python = "cp312-abi3" if module.name.endswith(".abi3.so") else f"{python}-{python}"
    libc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    return f"{python}-manylinux_{libc}_x86_64"


def _copy_libraries(package):
    """The libraries that modules and programs load, and those that these load, beside libamp_runtime."""
    prefix = re.search(r"AMP_LLVM_PREFIX (\S+)", (ROOT / "cmake/AmpDependencies.cmake").read_text()).group(1)
    files = [*package.glob("*.so"), *(package / "bin").iterdir()]
    while True:
        listed = subprocess.run(["ldd", *files], check=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"]}).stdout
        # Where the wheel is to find it, LLVM's is not yet; what it loads shows once it is there.
        wanted = {name: Path(prefix) / "lib" / name for name in re.findall(r"(\S+) => not found", listed)}
        wanted |= {name: Path(path) for name, path in re.findall(r"^\s(\S+) => (\S+) \(", listed, re.M) if not SYSTEM.match(name)}
        wanted = {name: path for name, path in wanted.items() if not (package / "lib" / name).exists()}
        if not wanted:
            return
        for name, path in wanted.items():
            (package / "lib" / name).write_bytes(path.read_bytes())


def _write_info(folder, version, tag):
    folder.mkdir()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: amp-mlir\nVersion: {version}\nSummary: Mixed-precision compiler for model graphs\n"
        "License: Apache-2.0\nRequires-Python: >=3.11\nRequires-Dist: numpy\n"
        "Provides-Extra: torch\nRequires-Dist: torch; extra == 'torch'\nRequires-Dist: ml_dtypes; extra == 'torch'\n"
        f"Description-Content-Type: text/markdown\n\n{readme}", encoding="utf-8")
    (folder / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: amp-mlir\nRoot-Is-Purelib: false\nTag: {tag}\n")
    present = [name for name in PROGRAMS if (folder.parent / "amp_mlir/bin" / name).exists()]
    (folder / "entry_points.txt").write_text(
        "[console_scripts]\n" + "".join(f"{name} = amp_mlir.programs:{name.replace('-', '_')}\n" for name in present))
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())


def _zip(stage, path, level):
    info, = stage.glob("*.dist-info")
    files = sorted(file for file in stage.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    records = []
    temporary = path.with_suffix(".part")
    kind = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    with zipfile.ZipFile(temporary, "w", kind, compresslevel=level or None) as archive:
        for file in files:
            name, data = file.relative_to(stage).as_posix(), file.read_bytes()
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            is_program = file.parent.name == "bin"
            entry.external_attr, entry.compress_type = (0o100755 if is_program else 0o100644) << 16, kind
            archive.writestr(entry, data, compresslevel=level or None)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{len(data)}\n")
        archive.writestr(f"{info.name}/RECORD", "".join(records) + f"{info.name}/RECORD,,\n")
    os.replace(temporary, path)
