"""What the benchmark commands share: running a tool on a model, writing a table into docs/benchmarks.md."""
import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/python"))

from harness import amp_opt_path, run_process  # noqa: E402

PEER_PYTHON = ROOT / ".venv-peers/bin/python"
PAGE = ROOT / "docs/benchmarks.md"
TOOLS = {"ours": "amp-opt", "occ": "onnxconverter-common 1.16.0", "mo": "ModelOpt AutoCast 0.47.0"}


@dataclass
class Measure:
    """One tool on one model. `conversion` is the time without start-up, reading and writing, where the tool tells it."""
    seconds: float = None
    cpu: float = None
    conversion: float = None
    peak_mib: float = None
    anonymous_mib: float = None
    failure: str = ""


def options(description, tools=("ours", "occ", "mo"), mo_every=False):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help="only models whose name starts with one of these")
    parser.add_argument("--tools", default=",".join(tools), help="of ours, occ, mo (default %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of amp-opt, the fastest counts (peers: one run; default %(default)s)")
    parser.add_argument("--timeout", type=int, default=300, help="seconds per run")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    if mo_every:
        parser.add_argument("--mo-every", type=int, default=1, metavar="N", help="give AutoCast every Nth model only: it takes 5 s and more for each")
    chosen = parser.parse_args()
    chosen.tools = chosen.tools.split(",")
    if set(chosen.tools) & {"occ", "mo"} and not PEER_PYTHON.exists():
        print("peers are left out: run benchmarks/setup-peers", file=sys.stderr)
        chosen.tools = [t for t in chosen.tools if t == "ours"]
    if not amp_opt_path().is_file():
        sys.exit(f"error: {amp_opt_path()} is absent: build it with utils/build, or set AMP_OPT")
    return chosen


def measure(tool, model, chosen, block="", repeat=None):
    """Best of several runs for ours, one for a peer. Outputs are thrown away."""
    best = Measure()
    for _ in range((repeat or chosen.repeat) if tool == "ours" else 1):
        with tempfile.TemporaryDirectory(dir=os.environ.get("AMP_BENCH_TMP")) as folder:
            target = str(Path(folder) / "out.onnx")
            if tool == "ours":
                command = [amp_opt_path(), model, "--autocast=dtype=f16" + (f" deny={block}" if block else ""), "-o", target]
            else:
                command = [PEER_PYTHON, ROOT / "benchmarks/peer.py", tool, model, target, *(["--block", block] if block else [])]
            run = run_process(command, timeout=chosen.timeout, sample=True)
            if not run.ok:
                reason = f"over {chosen.timeout} s" if run.timed_out else f"signal {run.signal}" if run.signal else (run.stderr.strip().splitlines() or ["failed"])[-1]
                return Measure(failure=reason[:80].replace("|", "/"))
            if best.seconds is None or run.seconds < best.seconds:
                told = json.loads(run.stdout.splitlines()[-1])["conversion"] if tool != "ours" else None
                best = Measure(run.seconds, run.cpu_seconds, told, run.peak_mib, run.anonymous_mib)
    return best


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}" if value < 100 else f"{value:.0f}"


def cell(m, digits=2):
    """`process s / CPU s / conversion s / peak MiB`, or why there is none."""
    if m is None:
        return "not run"
    if m.failure:
        return f"fails: {m.failure}"
    return f"{number(m.seconds, digits)} / {number(m.cpu, digits)} / {number(m.conversion, digits)} / {m.peak_mib:.0f}"


def ratio(peer, ours):
    if not peer or not ours or peer.failure or ours.failure:
        return "-"
    return f"{peer.seconds / ours.seconds:.1f}x, CPU {peer.cpu / ours.cpu:.1f}x"


def copy_seconds(paths):
    """Fastest of two copies of files inside the temporary folder's file system, synced as the tool's own output is."""
    best = None
    for _ in range(2):
        with tempfile.TemporaryDirectory(dir=os.environ.get("AMP_BENCH_TMP")) as folder:
            begin = time.monotonic()
            for path in paths:
                target = Path(folder) / path.name
                shutil.copyfile(path, target)
                with open(target, "rb") as stream:
                    os.fsync(stream.fileno())
            best = min(best or 1e9, time.monotonic() - begin)
    return best


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def machine():
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    with open("/proc/loadavg") as load:
        busy = load.read().split()[0]
    return f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of {cpu}, load {busy} at the start"


def publish(name, text, chosen):
    """Prints a table and, when asked, replaces the one between its markers in docs/benchmarks.md."""
    print(text)
    if not chosen.write:
        return
    page = PAGE.read_text()
    begin, end = f"<!-- {name}: written by benchmarks/{name} -->", f"<!-- end of {name} -->"
    before, after = page.index(begin) + len(begin), page.index(end)
    PAGE.write_text(page[:before] + "\n" + text + "\n" + page[after:])
