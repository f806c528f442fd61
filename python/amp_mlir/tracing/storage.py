"""Memory that several tensors of a program share, written functionally.

A tensor that owns memory has a value and a version. A view remembers how it is made of its base and how a write to it changes the
base; it is made again when the base has changed since. So a write through any chain of views reaches the owner, and every other
view sees it.
"""

from __future__ import annotations

from .errors import Refusal


class Cell:
    """One tensor of the traced program."""

    __slots__ = ("_value", "version", "base", "_seen", "_replay", "_inverse", "name")

    def __init__(self, value, base=None, replay=None, inverse=None, name=None):
        """value: a Tensor. base: the Cell whose memory is shared; replay(base value) makes this tensor of it, inverse(base value,
        new value) the base after a write. name: of an input, for messages."""
        self._value, self.version, self.base, self.name = value, 0, base, name
        self._replay, self._inverse = replay, inverse
        self._seen = base.current_version() if base else 0

    def current_version(self):
        return self.base.current_version() if self.base else self.version

    def read(self):
        if self.base and self._seen != self.current_version():
            self._value, self._seen = self._replay(self.base.read()), self.current_version()
        return self._value

    def write(self, value):
        """Replaces the contents; the caller has given `value` the shape and type."""
        value = value.with_shape(self._value.shape)
        if self.base is None:
            self._value, self.version = value, self.version + 1
            return
        if self._inverse is None:
            raise Refusal("a write through a view of this kind is not supported; write to the tensor itself, or to a clone()")
        self.base.write(self._inverse(self.base.read(), value))
        self._value, self._seen = value, self.current_version()

    @property
    def owner(self):
        return self.base.owner if self.base else self


def same_memory(base):
    """A further name for the tensor of `base` (detach, contiguous)."""
    return Cell(base.read(), base, replay=lambda value: value, inverse=lambda old, new: new)
