"""The tensors of an opened artifact, wherever they lie."""
import sys

import numpy as np

from .dtypes import bfloat16_array
from .errors import Error


def to_numpy(value):
    """An array or torch tensor as a numpy array; bfloat16 as uint16."""
    if not hasattr(value, "detach"):
        value = np.asarray(value)
        return value.view(np.uint16) if value.dtype.name == "bfloat16" else value
    value = value.detach().cpu().contiguous()
    torch = sys.modules["torch"]
    return value.view(torch.int16).numpy().view(np.uint16) if value.dtype == torch.bfloat16 else value.numpy()


class State:
    """Reads and writes tensors of a runtime step by name; both copy."""

    def __init__(self, step):
        self.step = step
        self.rows = {row["name"]: row for row in step.tensors}
        self.roles = {}
        for name, row in self.rows.items():
            self.roles.setdefault(row["role"], []).append(name)

    def __contains__(self, name):
        return name in self.rows

    def shape(self, name):
        return self.rows[name]["shape"]

    def read(self, name, torch=False):
        """A copy: a numpy array, or a torch tensor."""
        value = self.step.read(name, not torch)
        if torch:
            return sys.modules["torch"].from_dlpack(value)
        return bfloat16_array(value) if self.rows[name]["dtype"] == "bf16" else value

    def check(self, name, value, what):
        """Raises Error unless `value` has the tensor's shape."""
        if list(value.shape) != self.shape(name):
            raise Error(f"'{name}' has the shape {list(value.shape)} in the {what}, but {self.shape(name)} in the step")

    def write(self, name, value):
        """Sets a tensor to an array of its shape, or to one number; types are converted."""
        value = to_numpy(value)
        kept = self.step.read(name, True)
        if self.rows[name]["dtype"] == "bf16" and value.dtype != np.uint16:
            raise Error(f"'{name}' is bfloat16, but got {value.dtype}")
        self.step.write(name, np.ascontiguousarray(np.broadcast_to(value, kept.shape), dtype=kept.dtype).reshape(kept.shape))
