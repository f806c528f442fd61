"""Mixed-precision models from float32 ones."""
import os
import tempfile
from pathlib import Path

from ._amp import Module
from .dtypes import half_name


def from_onnx(path):
    """Reads an ONNX model (or MLIR text) as a Module. Raises Error, which names what is wrong in the file."""
    return Module.load(os.fspath(path))


def convert(model, output=None, *, dtype="f16", policy="balanced", allow=(), deny=(), pin=None, keep_io_types=True,
            lossy_constants="", decisions="", save_decisions="", opset=0, external_data_threshold=0):
    """Gives every operator of a float32 model a precision, as `amp-opt --autocast` does, and returns the Report.

    model: path of a .onnx or .mlir file, or a Module, which is changed. output: where to write the result (.onnx, .mlir or
    .mlirbc; the file appears whole or not at all), or None. dtype: "f16" or "bf16". policy: name or path. allow, deny:
    operators that run narrow or in float32 whatever the policy says. pin: {regular expression of node names: "f32", "f16",
    "bf16"}. keep_io_types: inputs and outputs keep their types. lossy_constants: "wide", "clamp" or "convert", for constants
    that do not fit. decisions, save_decisions: decision files to read and to write.

    Raises Error; an overlap, an operator that does not exist, and a pin that matches nothing are errors.
    """
    from .report import Report
    module = model if isinstance(model, Module) else from_onnx(model)
    with tempfile.TemporaryDirectory(prefix="amp-mlir-") as work:
        path = str(Path(work) / "report.json")
        module.autocast(dtype=half_name(dtype, "dtype"), policy=policy, allow=list(allow), deny=list(deny),
                        pin=[f"{pattern}={kind}" for pattern, kind in (pin or {}).items()], keep_io_types=keep_io_types,
                        lossy_constants=lossy_constants, decisions=os.fspath(decisions), save_decisions=os.fspath(save_decisions), report=path)
        report = Report(autocast=path, title=Path(module.source).name)
    if output is not None:
        module.save(os.fspath(output), opset=opset, external_data_threshold=external_data_threshold)
    return report
