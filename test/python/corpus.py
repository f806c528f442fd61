"""The models tests run over: the onnx wheel's test data, ONNX Runtime's test graphs, real models out of packages."""
import fcntl
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import onnx

from harness import CACHE, MODELS, ROOT, SHARED


@dataclass(frozen=True)
class Case:
    """A model, its readable name and the folder of its stored inputs, if it has one."""
    name: str
    path: str
    folder: str = None


def onnx_suite():
    """node, simple, pytorch-* and light models of the installed onnx wheel."""
    root = Path(onnx.__file__).parent / "backend/test/data"
    cases = []
    for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
        for path in sorted(root.glob(f"{kind}/*/model.onnx")):
            cases.append(Case(f"{kind}/{path.parent.name}", str(path), str(path.parent / "test_data_set_0")))
    return cases + [Case(f"light/{path.stem}", str(path)) for path in sorted((root / "light").glob("*.onnx"))]


def ort_testdata():
    """(cases, reason): graphs of the shared archive, unpacked once into the cache; the reason says why there are none."""
    archive = SHARED / "models/ort-testdata.tar.gz"
    if not archive.is_file():
        return [], f"{archive} is absent (set AMP_SHARED to the folder that holds models/ort-testdata.tar.gz)"
    CACHE.mkdir(parents=True, exist_ok=True)
    target = CACHE / f"ort-testdata-{archive.stat().st_size}"
    with open(CACHE / "ort-testdata.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / ".complete").exists():
            with tarfile.open(archive) as tar:
                tar.extractall(target, filter="data")
            (target / ".complete").touch()
    return [Case("ort/" + str(p.relative_to(target).with_suffix("")).removeprefix("ort-testdata/"), str(p))
            for p in sorted(target.rglob("*.onnx"))], ""


def real_models():
    """[(case, reason)]: every model of utils/models.tsv; the reason says why a case can't run."""
    rows = [line.split("\t") for line in (ROOT / "utils/models.tsv").read_text().splitlines() if line and line[0] != "#"]
    result = []
    for name, requirement, *_ in rows:
        path = MODELS / f"{name}.onnx"
        result.append((Case(name, str(path)), "" if path.is_file() else f"{path} is absent: run utils/fetch-models ({requirement})"))
    return result


def sample(cases, share, always=()):
    """A fixed part of the cases: about one in `share` by a hash of the name, and those whose name holds one of `always`."""
    return [case for case in cases if zlib.crc32(case.name.encode()) % share == 0 or any(word in case.name for word in always)]
