"""Runs amp-opt and measures it: exit code, signal, streams, wall time and peak memory of the one process."""
import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Threads start processes here, and a child that shares its parent's memory until it executes was seen to fail with EFAULT.
subprocess._USE_VFORK = False

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("AMP_SHARED") or ROOT.parent / "shared")
CACHE = Path.home() / ".cache/amp-mlir"
MODELS = Path(os.environ.get("AMP_MODELS") or CACHE / "models")
FULL = os.environ.get("AMP_FULL") == "1"
#: "COUNT:SEED" draws that many models of the suites instead of the fixed sample.
DRAWN = os.environ.get("AMP_DRAW")


def amp_opt_path():
    """The program under test: $AMP_OPT, else the build's."""
    return Path(os.environ.get("AMP_OPT") or ROOT / "build/bin/amp-opt")


@dataclass
class Run:
    """One finished process. `signal` is 0 unless a signal ended it; `timed_out` tells that we did."""
    command: list
    code: int
    signal: int
    stdout: str
    stderr: str
    seconds: float
    cpu_seconds: float
    peak_mib: float
    anonymous_mib: float
    timed_out: bool

    @property
    def ok(self):
        return self.code == 0 and not self.signal and not self.timed_out

    def describe(self):
        """What to print when this run is not what a test wants."""
        how = f"signal {self.signal}" if self.signal else f"exit code {self.code}"
        if self.timed_out:
            how = f"stopped after {self.seconds:.0f} s"
        lines = self.stderr.strip().splitlines()
        return f"{' '.join(map(str, self.command))}: {how}\n" + "\n".join(lines[:20])


def _sample_anonymous(pid, stop, result):
    """Largest RssAnon seen: memory of the process's own, mapped files left out."""
    while not stop.wait(0.01):
        try:
            with open(f"/proc/{pid}/status") as status:
                for line in status:
                    if line.startswith("RssAnon:"):
                        result[0] = max(result[0], int(line.split()[1]) / 1024)
        except OSError:
            return


def run_process(command, timeout=120, cwd=None, env=None, stdin=None, sample=False):
    """Runs a command; time and peak resident memory are those of this child alone."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err, cwd=cwd, env=env,
                                 stdin=stdin if stdin is not None else subprocess.DEVNULL)
        expired = threading.Event()

        def expire():
            expired.set()
            child.kill()

        timer = threading.Timer(timeout, expire)
        timer.start()
        anonymous, stop = [0.0], threading.Event()
        sampler = threading.Thread(target=_sample_anonymous, args=(child.pid, stop, anonymous))
        if sample:
            sampler.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        timer.cancel()
        stop.set()
        if sample:
            sampler.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        return Run(command, max(child.returncode, 0), max(-child.returncode, 0), out.read().decode(errors="replace"),
                   err.read().decode(errors="replace"), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, anonymous[0], expired.is_set())


def amp_opt(*arguments, **options):
    """Runs the program under test."""
    return run_process([amp_opt_path(), *arguments], **options)


def autocast_option(dtype, **options):
    """--autocast=... with the given options, e.g. autocast_option("f16", policy="balanced", pin="a=f32")."""
    fields = [f"dtype={dtype}"] + [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
    return "--autocast=" + " ".join(fields)


def autocast(source, target, dtype="f16", report=None, arguments=(), **options):
    """Converts a file with the autocast pipeline; the report, when asked for, is parsed into the result."""
    command = [source, autocast_option(dtype, **options), "-o", target, *arguments]
    if report is not None:
        command.append(f"--report={report}")
    run = amp_opt(*command)
    run.report = json.loads(Path(report).read_text()) if report is not None and run.ok else None
    return run
