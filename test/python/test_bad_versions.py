"""Versions, options and files that are understood wrongly in silence if nobody looks: each is refused, or told with its name."""
import gzip
import io
import json
import struct
import zipfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from harness import amp_opt, autocast_option
from small import floats, model
from test_bad_input import external, good, refuse, weights  # noqa: F401 (a fixture)


def accept(proto, folder, *said, options=()):
    """amp-opt takes the model and says each of `said`; gives (the result, all it printed)."""
    source, target = folder / "in.onnx", folder / "out.onnx"
    source.write_bytes(proto.SerializeToString())
    run = amp_opt(source, *options, "-o", target)
    assert run.ok, run.describe()
    for text in said:
        assert text in run.stderr, run.describe()
    return onnx.load(target), run.stderr


# ---- versions --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("version", [0, -1])
def test_ir_version_below_one(tmp_path, version):
    proto = good()
    proto.ir_version = version
    refuse(proto, tmp_path, f"ir_version {version}", "start at 1")


def test_ir_version_of_the_future(tmp_path):
    proto = good()
    proto.ir_version = onnx.IR_VERSION + 1
    result, _ = accept(proto, tmp_path, f"warning: the model has the ir_version {onnx.IR_VERSION + 1}", f"newest known is {onnx.IR_VERSION}")
    assert result.ir_version == onnx.IR_VERSION + 1


@pytest.mark.parametrize("opset", [0, -1, 999, 2**31])
def test_unknown_opset(tmp_path, opset):
    proto = good()
    proto.opset_import[0].version = opset
    refuse(proto, tmp_path, f"opset {opset} of ai.onnx", f"1 to {onnx.defs.onnx_opset_version()} are known")


def test_two_spellings_of_a_domain(tmp_path):
    """Files of ONNX Runtime's training tools have both; it takes the last."""
    proto = good()
    proto.opset_import[0].version = 7
    proto.opset_import.append(helper.make_opsetid("ai.onnx", 17))
    result, _ = accept(proto, tmp_path, "warning:", "opset 7 and with opset 17; the last is taken")
    assert [(o.domain, o.version) for o in result.opset_import] == [("", 7), ("ai.onnx", 17)]


@pytest.mark.parametrize("first, second", [("", ""), ("ai.onnx", "ai.onnx"), ("com.example", "com.example")])
def test_domain_imported_twice(tmp_path, first, second):
    proto = good()
    proto.opset_import.extend([helper.make_opsetid(first, 17), helper.make_opsetid(second, 13)])
    if first != "com.example":
        del proto.opset_import[0]
    refuse(proto, tmp_path, f"'{first or 'ai.onnx'}' twice", "opset 17", "opset 13")
    for entry in proto.opset_import:
        entry.version = 17
    accept(proto, tmp_path, "warning:", f"'{first or 'ai.onnx'}' twice, both times with opset 17; remove one")


# ---- declarations ----------------------------------------------------------------------------------------------------------

def test_every_output_whose_declaration_is_wrong_is_named(tmp_path):
    """Inner values are counted after the fifth; outputs never are, since the file that is written differs there."""
    outputs = [f"y{i}" for i in range(9)]
    body = " ".join(f"t{i} = Neg(X) {name} = Relu(X)" for i, name in enumerate(outputs))
    proto = model(f"g (float[2,2] X) => ({', '.join('float[3,2] ' + name for name in outputs)}) {{ {body} }}")
    for i in range(9):
        proto.graph.value_info.append(helper.make_tensor_value_info(f"t{i}", TensorProto.FLOAT, [5]))
    result, said = accept(proto, tmp_path, "more declared types contradict")
    for value in result.graph.output:
        assert f"warning: value '{value.name}' is declared as " in said
        assert [d.dim_value for d in value.type.tensor_type.shape.dim] == [2, 2]


def test_wrong_declaration_of_an_output_that_no_node_makes(tmp_path):
    proto = model("g (float[2,2] X) => (float[2,2] Y, float[2,3] weight) { Y = MatMul(X, weight) }", {"weight": floats([1, 2], [3, 4])})
    accept(proto, tmp_path, "warning: value 'weight' is declared as ")


# ---- external data ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("location", [".", "sub", "sub/", "sub/."])
def test_external_data_in_a_folder(weights, location):  # noqa: F811
    (weights / "sub").mkdir()
    refuse(external(location), weights, "weight", "is a folder")


# ---- files of other kinds --------------------------------------------------------------------------------------------------

def _zip():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    return out.getvalue()


def _safetensors():
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * 4


@pytest.mark.parametrize("data, what", [
    (gzip.compress(good().SerializeToString()), "gzip"), (_zip(), "torch.onnx.export"), (_safetensors(), "safetensors"),
    (b"<!DOCTYPE html>\n<html><body>404</body></html>", "web page"), (b"\n  <html></html>", "web page"), (b"", "empty"), (b" \n\t", "white space"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"), (b'{"ir_version": 8}', "JSON"),
    (b"\x93NUMPY\x01\x00", "NumPy"), (b"\x1c\0\0\0TFL3" + b"\0" * 64, "TensorFlow Lite"), (b"\x80\x02}q\x00.", "pickle"),
    (np.random.default_rng(1).bytes(4096), ""), (b"text up to\0here", "binary"), (b"\xff\xfe" * 99, "binary"), (b"\x08\x08" + b"\xff" * 99, "damaged"),
], ids=["gzip", "torch zip", "safetensors", "html", "html after space", "empty", "blank", "git lfs", "json", "npy", "tflite", "pickle", "random", "nul", "utf-16", "begins as onnx"])
@pytest.mark.parametrize("name", ["out.onnx", "out.mlir"])
def test_file_of_another_kind(tmp_path, data, what, name):
    (tmp_path / "bad.onnx").write_bytes(data)
    run = amp_opt(tmp_path / "bad.onnx", "-o", tmp_path / name)
    assert run.code == 1 and not run.signal and not (tmp_path / name).exists(), run.describe()
    assert "bad.onnx: " in run.stderr and what in run.stderr, run.describe()
    assert not data or "is not an ONNX model" in run.stderr, run.describe()


# ---- options ---------------------------------------------------------------------------------------------------------------

def test_split_input_with_onnx(tmp_path):
    (tmp_path / "in.onnx").write_bytes(good().SerializeToString())
    (tmp_path / "in.mlir").write_text("module {}\n// -----\nmodule {}\n")
    for source, target in (("in.mlir", "out.onnx"), ("in.onnx", "out.mlir")):
        run = amp_opt(tmp_path / source, "--split-input-file", "-o", tmp_path / target)
        assert run.code == 1 and "--split-input-file" in run.stderr and not (tmp_path / target).exists(), run.describe()
    run = amp_opt(tmp_path / "in.mlir", "--split-input-file", "-o", tmp_path / "out.mlir")
    assert run.ok, run.describe()


def _named():
    proto = model("g (float[2,2] X) => (float[2,2] Y, int64[2] s) { h = MatMul(X, w) Y = Relu(h) s = Shape(h) }", {"w": floats([1, 2], [3, 4])})
    for node, name in zip(proto.graph.node, ("a,b", "the-relu", "the-shape")):
        node.name = name
    return proto


@pytest.mark.parametrize("options, half, remark", [({"pin": "the-relu=f16", "deny": "Relu"}, True, "deny=Relu"),
                                                   ({"pin": "the-relu=f32", "allow": "Relu"}, False, "allow=Relu"),
                                                   ({"pin": "the-relu=f32", "deny": "Relu"}, False, None)], ids=["deny", "allow", "agree"])
def test_pin_counts_more_than_allow_and_deny(tmp_path, options, half, remark):
    result, said = accept(_named(), tmp_path, options=[autocast_option("f16", **options)])
    types = {v.name: v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(result).graph.value_info}
    types |= {v.name: v.type.tensor_type.elem_type for v in result.graph.input}
    relu = next(n for n in result.graph.node if n.op_type == "Relu")
    assert (types[relu.input[0]] == TensorProto.FLOAT16) == half
    assert (f"'the-relu' is pinned by '{options['pin']}' although {remark}" in said) if remark else "pinned" not in said


def test_comma_in_the_name_of_a_pin(tmp_path):
    result, _ = accept(_named(), tmp_path, options=[autocast_option("f16", pin="a[,]b=f32")])
    assert not any(n.op_type == "Cast" for n in result.graph.node)
    (tmp_path / "in.onnx").unlink(), (tmp_path / "out.onnx").unlink()
    refuse(_named(), tmp_path, "'pin=a'", "[,]", options=[autocast_option("f16", pin="a,b=f32")])


@pytest.mark.parametrize("verb", ["allow", "deny"])
@pytest.mark.parametrize("op", ["Shape", "Size", "EyeLike", "Loop"])
def test_allow_and_deny_of_ops_without_precision(tmp_path, verb, op):
    refuse(_named(), tmp_path, f"cannot {verb} '{op}'", "no precision to decide", options=[autocast_option("f16", **{verb: op})])


# ---- ops that name their type, or take that of their operand ---------------------------------------------------------------

@pytest.mark.parametrize("policy", ["balanced", "torch-cuda"])
@pytest.mark.parametrize("op", ["EyeLike", "Bernoulli", "RandomNormalLike", "RandomUniformLike"])
def test_result_type_that_follows_the_operand(tmp_path, op, policy):
    proto = model(f"g (float[2,2] X) => (float[2,2] Y, float[2,2] Z) {{ h = MatMul(X, w) e = {op}(h) Y = Exp(e) Z = MatMul(e, w) }}", {"w": floats([1, 2], [3, 4])})
    result, _ = accept(proto, tmp_path, options=[autocast_option("f16", policy=policy)])
    onnx.checker.check_model(result, full_check=True)
    eye = next(n for n in result.graph.node if n.op_type == op)
    assert op != "EyeLike" or not any(a.name == "dtype" and a.i == TensorProto.FLOAT16 for a in eye.attribute), "ONNX Runtime has no half kernel"


def test_numbers_survive_what_is_told(weights):  # noqa: F811
    """The folder check does not refuse data in a folder of the model's folder."""
    (weights / "sub").mkdir()
    (weights / "w.bin").rename(weights / "sub/w.bin")
    (weights / "ok.onnx").write_bytes(external("sub/w.bin").SerializeToString())
    run = amp_opt(weights / "ok.onnx", "-o", weights / "out.onnx")
    assert run.ok, run.describe()
    np.testing.assert_array_equal(numpy_helper.to_array(onnx.load(weights / "out.onnx").graph.initializer[0]), np.eye(2))
