"""Worker pool, work done ahead of the tests that wait for it, and a summary of what was compared how."""
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import amp_opt_path
from workers import Pool

# The Python package, as it was built beside the programs.
sys.path.insert(0, str(amp_opt_path().parent.parent / "python"))

JOBS = int(os.environ.get("AMP_JOBS") or min(4, os.cpu_count() or 1))
_tally = Counter()
_lines = []


class Ahead:
    """Runs jobs in threads in the order of the collected tests, a few ahead of the one that is waiting."""

    def __init__(self, session):
        self.pool, self.threads = Pool(JOBS), ThreadPoolExecutor(JOBS)
        self.waiting = [(mark.args[0], item) for item in session.items if (mark := item.get_closest_marker("job"))]
        self.started, self.next = {}, 0
        self.position = {item.nodeid: i for i, (_, item) in enumerate(self.waiting)}

    def result(self, item):
        """The result of the item's job; starts the jobs that follow it."""
        index = self.position[item.nodeid]
        self.next = max(self.next, index)
        while self.next < min(index + 4 * JOBS, len(self.waiting)):
            function, other = self.waiting[self.next]
            self.started[other.nodeid] = self.threads.submit(function, other, self.pool)
            self.next += 1
        if item.nodeid not in self.started:
            self.started[item.nodeid] = self.threads.submit(self.waiting[index][0], item, self.pool)
        return self.started.pop(item.nodeid).result()

    def close(self):
        self.threads.shutdown(cancel_futures=True)
        self.pool.close()


@pytest.fixture(scope="session")
def ahead(request):
    queue = Ahead(request.session)
    yield queue
    queue.close()


@pytest.fixture(scope="session")
def pool(ahead):
    return ahead.pool


@pytest.fixture(scope="session")
def lower(pool):
    """Converts small models; see small.Lower."""
    from small import Lower
    return Lower(pool)


@pytest.fixture(scope="session")
def record():
    """record("group", "what"): counted and printed in the summary; record.line adds a line."""
    def add(group, what):
        _tally[group, what] += 1
    add.line = _lines.append
    return add


@pytest.fixture(scope="session", autouse=True)
def _program():
    if not amp_opt_path().is_file():
        pytest.exit(f"{amp_opt_path()} is absent: build it with utils/build, or set AMP_OPT", returncode=2)


def pytest_configure(config):
    config.addinivalue_line("markers", "job(function): work that runs in a worker ahead of the test")


def pytest_terminal_summary(terminalreporter):
    if _tally or _lines:
        terminalreporter.section("what was compared")
    for (group, what), count in sorted(_tally.items()):
        terminalreporter.write_line(f"{group}: {count} {what}")
    for line in _lines:
        terminalreporter.write_line(line)
