"""Names of element types, and numpy arrays of bfloat16."""
from .errors import Error

_HALF = {"f16": "f16", "fp16": "f16", "half": "f16", "float16": "f16", "bf16": "bf16", "bfloat16": "bf16"}


def half_name(dtype, what):
    """"f16" or "bf16" of a name, a torch.dtype or a numpy dtype. `what` opens the error."""
    text = getattr(dtype, "__name__", None) or str(dtype)
    found = _HALF.get(text.removeprefix("torch."))
    if found is None:
        raise Error(f"{what} is torch.float16, torch.bfloat16, 'f16' or 'bf16', but got {dtype!r}")
    return found


def bfloat16_array(array):
    """A uint16 array as bfloat16, which numpy knows from the package ml_dtypes."""
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        raise Error("numpy has no bfloat16 without the package ml_dtypes: install it, or give the step torch tensors") from None
    return array.view(bfloat16)
