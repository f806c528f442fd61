"""Runs one conversion of a peer inside .venv-peers: peer.py occ|mo IN OUT [--block OP]. Prints the seconds of the conversion alone as JSON."""
import json
import os
import sys
import time


def occ(source, target, block):
    """onnxconverter-common: f16, interface kept, everything else default."""
    import onnx
    from onnxconverter_common import float16
    begin = time.monotonic()
    options = {"keep_io_types": True}
    if block:
        options["op_block_list"] = [*float16.DEFAULT_OP_BLOCK_LIST, block]
    size = os.path.getsize(source) + sum(os.path.getsize(os.path.join(os.path.dirname(source), f)) for f in os.listdir(os.path.dirname(source)) if f == "mlp.data")
    if size > 2 << 30:
        model = float16.convert_float_to_float16_model_path(source, **options)
        onnx.save(model, target, save_as_external_data=True, location=os.path.basename(target) + ".data")
        return time.monotonic() - begin
    model = onnx.load(source)
    begin = time.monotonic()
    model = float16.convert_float_to_float16(model, **options)
    seconds = time.monotonic() - begin
    onnx.save(model, target)
    return seconds


def mo(source, target, block):
    """ModelOpt AutoCast: fp16, interface kept, random calibration data as is its default."""
    import onnx
    from modelopt.onnx.autocast import convert_to_mixed_precision
    begin = time.monotonic()
    options = {"op_types_to_exclude": [block]} if block else {}
    model = convert_to_mixed_precision(onnx_path=source, low_precision_type="fp16", keep_io_types=True, **options)
    seconds = time.monotonic() - begin
    big = model.ByteSize() > 2**31 - 1
    onnx.save(model, target, save_as_external_data=big, **({"location": os.path.basename(target) + ".data"} if big else {}))
    return seconds


if __name__ == "__main__":
    tool, source, target = sys.argv[1:4]
    seconds = {"occ": occ, "mo": mo}[tool](source, target, sys.argv[5] if len(sys.argv) > 5 else "")
    print(json.dumps({"conversion": seconds}))
