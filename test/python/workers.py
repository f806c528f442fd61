"""A pool of worker processes that run model engines: one that crashes is replaced, and what it was doing is told."""
import importlib
import os
import pickle
import queue
import select
import struct
import subprocess
import sys
import time
from pathlib import Path


class WorkerDied(Exception):
    """The worker crashed or ran past its time; `stage` is what it said it was doing."""

    def __init__(self, reason, stage):
        super().__init__(f"{reason} while {stage}" if stage else reason)
        self.reason, self.stage = reason, stage


def _send(stream, value):
    data = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


class _Worker:
    """One child process and its pipes."""

    def __init__(self):
        environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        self.process = subprocess.Popen([sys.executable, str(Path(__file__).resolve())], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)

    def _read(self, count, deadline):
        data = b""
        while len(data) < count:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            block = os.read(self.process.stdout.fileno(), min(count - len(data), 1 << 20))
            if not block:
                raise EOFError
            data += block
        return data

    def call(self, function, arguments, timeout):
        stage, deadline = "", time.monotonic() + timeout
        try:
            _send(self.process.stdin, (function, arguments))
            while True:
                size, = struct.unpack("<Q", self._read(8, deadline))
                kind, value = pickle.loads(self._read(size, deadline))
                if kind == "stage":
                    stage = value
                elif kind == "result":
                    return value
                else:
                    raise RuntimeError(value)
        except TimeoutError:
            self.close()
            raise WorkerDied(f"no answer within {timeout:.0f} s", stage) from None
        except (EOFError, BrokenPipeError):
            code = self.process.wait()
            raise WorkerDied(f"worker ended with signal {-code}" if code < 0 else f"worker exited with {code}", stage) from None

    def alive(self):
        return self.process.poll() is None

    def close(self):
        self.process.kill()
        self.process.wait()


class Pool:
    """Workers made on demand, kept between calls. Safe to call from several threads."""

    def __init__(self, size):
        self._slots = queue.LifoQueue()
        for _ in range(size):
            self._slots.put(None)

    def call(self, function, *arguments, timeout=120):
        """Calls "module.function" in a worker; an exception there is raised here as RuntimeError."""
        worker = self._slots.get()
        try:
            if worker is None or not worker.alive():
                worker = _Worker()
            return worker.call(function, arguments, timeout)
        finally:
            self._slots.put(worker if worker is not None and worker.alive() else None)

    def close(self):
        while not self._slots.empty():
            worker = self._slots.get()
            if worker is not None:
                worker.close()


_reply = None


def stage(text):
    """Tells the parent what comes next, so that a crash can be named. Does nothing outside a worker."""
    if _reply is not None:
        _send(_reply, ("stage", text))


def _serve():
    """The child's loop. Standard output is the pipe to the parent, so stray prints of libraries go to /dev/null."""
    import traceback
    reply = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.modules["workers"] = sys.modules["__main__"]
    global _reply
    _reply = reply
    while header := sys.stdin.buffer.read(8):
        function, arguments = pickle.loads(sys.stdin.buffer.read(struct.unpack("<Q", header)[0]))
        module, name = function.rsplit(".", 1)
        try:
            value = getattr(importlib.import_module(module), name)(*arguments)
            _send(reply, ("result", value))
        except Exception:
            _send(reply, ("error", traceback.format_exc(limit=-6)))


if __name__ == "__main__":
    _serve()
