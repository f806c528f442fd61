"""The two checks every model goes through: round trip, and autocast with a second run. Each gives a verdict."""
import os
import tempfile
import threading
from collections import defaultdict
from pathlib import Path

from harness import amp_opt, autocast
from workers import WorkerDied


def _patient(call):
    """call(levels); when ONNX Runtime itself dies at full optimisation, one level less, and the verdict says so."""
    try:
        return call(("off", "all"))
    except WorkerDied as died:
        if "optimisation all" not in died.stage:
            return {"problems": [f"the judge died: {died}"], "how": "crash", "why": str(died), "error": None}
        try:
            return {**call(("off", "extended")), "why": f"ONNX Runtime dies at full optimisation ({died.reason})"}
        except WorkerDied as again:
            return {"problems": [f"the judge died: {again}"], "how": "crash", "why": str(again), "error": None}


def _refused(run, case, target, pool):
    """Verdict on a model amp-opt refuses: right only if the checker refuses it too, with exit 1, a message and no output."""
    problems = []
    if run.signal or run.timed_out or run.code != 1:
        problems.append(run.describe())
    if os.path.exists(target):
        problems.append("an output was left")
    said = pool.call("judge.examine", case.path)
    if said is None:
        problems.append("refused, but the checker accepts it: " + run.describe())
    if not run.stderr.strip():
        problems.append("refused without a message")
    return {"problems": problems, "how": "refused", "why": said or "", "error": None}


_known, _locks, _guard = {}, defaultdict(threading.Lock), threading.Lock()


def _once(key, make):
    """make() once per session and key: several tests look at the same verdict."""
    with _guard:
        lock = _locks[key]
    with lock:
        if key not in _known:
            _known[key] = make()
        return _known[key]


def round_trip(case, pool):
    return _once((case, "round trip"), lambda: _round_trip(case, pool))


def convert(case, dtype, pool, tolerance=None):
    """Verdict on autocast of a case; `seconds` and `size` are those of the conversion and its output."""
    return _once((case, dtype, tolerance), lambda: _convert(case, dtype, pool, tolerance))


def _round_trip(case, pool):
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "out.onnx")
        run = amp_opt(case.path, "-o", target)
        if not run.ok:
            return _refused(run, case, target, pool)
        return _patient(lambda levels: pool.call("judge.round_trip", case.path, target, case.name, case.folder, levels, run.stderr))


def _convert(case, dtype, pool, tolerance):
    with tempfile.TemporaryDirectory() as folder:
        target, again = str(Path(folder) / "out.onnx"), str(Path(folder) / "again.onnx")
        run = autocast(case.path, target, dtype)
        if not run.ok:
            return _refused(run, case, target, pool)
        verdict = _patient(lambda levels: pool.call(
            "judge.autocast", case.path, target, case.name, case.folder, dtype, levels, tolerance, run.stderr))
        verdict.update(seconds=run.seconds, cpu_seconds=run.cpu_seconds, peak_mib=run.peak_mib, size=os.path.getsize(target))
        second = autocast(target, again, dtype)
        if not second.ok:
            verdict["problems"].append("second run: " + second.describe())
        elif found := pool.call("judge.same_model", target, again):
            verdict["problems"].append(f"demand 7: a second run changes {found}")
        return verdict
