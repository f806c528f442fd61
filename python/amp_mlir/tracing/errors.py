"""What tracing refuses, and how it says so."""

from __future__ import annotations

from .. import Error


class TraceError(Error):
    """A program that cannot be traced; the message names the user's line and says what to do."""


class Refusal(Exception):
    """Raised by a rule for a form of its operator that it does not cover; the walk adds the operator and the line."""


class UnsupportedOps(TraceError):
    """Operators without a rule, or used in a form that no rule covers: all of them at once.

    `found` holds (operator, reason, source line or None) in program order.
    """

    def __init__(self, found):
        self.found = list(found)
        lines = [f"  {operator}: {reason}" + (f"\n    at {line}" if line else "") for operator, reason, line in self.found]
        count = len(self.found)
        head = "1 operator cannot be traced" if count == 1 else f"{count} operators cannot be traced"
        super().__init__("\n".join([f"{head} ('python -m amp_mlir.tracing --list' shows those that can):", *lines]))
