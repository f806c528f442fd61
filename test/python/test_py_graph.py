"""GraphBuilder and Module of the Python package: what is built is what was asked for, and errors name the culprit."""
import gc
import weakref

import numpy as np
import onnx
import pytest

amp = pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")


def linear(opset=None):
    b = amp.GraphBuilder("net", opset)
    x = b.input("x", "f32", ["batch", 4])
    w = b.initializer("w", np.arange(12, dtype=np.float32).reshape(4, 3))
    y, = b.op("MatMul", [x, w], name="/fc/MatMul", loc=("model.py", 7))
    b.output(y, "y")
    return b


def test_types_are_inferred_and_names_kept():
    b = amp.GraphBuilder("net")
    x = b.input("x", "f32", ["batch", 4])
    w = b.initializer("w", np.zeros((4, 3), np.float32))
    assert (x.name, x.dtype, x.shape) == ("x", "f32", ["batch", 4])
    y, = b.op("MatMul", [x, w], output_names=["product"])
    assert (y.name, y.dtype, y.shape) == ("product", "f32", ["batch", 3])
    values, indices = b.op("TopK", [y, b.initializer("k", np.array([2]))], num_outputs=2)
    assert (values.dtype, indices.dtype, indices.shape) == ("f32", "i64", ["batch", 2])
    b.output(values, "values")
    m = b.finish()
    assert m.inputs == [{"name": "x", "dtype": "f32", "shape": ["batch", 4], "role": None}]
    assert m.outputs == [{"name": "values", "dtype": "f32", "shape": ["batch", 2], "role": None}]
    with pytest.raises(amp.Error, match="finished"):
        b.op("Relu", [y])


def test_saved_model_is_onnx(tmp_path):
    m = linear().finish()
    m.save(str(tmp_path / "m.onnx"))
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [n.name for n in model.graph.node] == ["/fc/MatMul"]
    assert model.opset_import[0].version == 17
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).tolist() == np.arange(12.).reshape(4, 3).tolist()
    again = amp.Module.load(str(tmp_path / "m.onnx"))
    again.save(str(tmp_path / "again.onnx"))
    assert onnx.load(tmp_path / "again.onnx") == model
    m.save(str(tmp_path / "m.mlir"))
    m.save(str(tmp_path / "m.mlirbc"))
    for name in "m.mlir", "m.mlirbc":
        assert amp.Module.load(str(tmp_path / name)).text(None) == m.text(None)
    with pytest.raises(amp.Error, match="ends in .onnx"):
        m.save(str(tmp_path / "m.txt"))


def test_locations_and_text():
    m = linear().finish()
    text = m.text(locations=True)
    assert 'loc("model.py":7:0)' in text and '"/fc/MatMul"(#loc' in text
    assert "onnx.MatMul" in str(m)
    assert amp.Module.parse(m.text(None)).text(None) == m.text(None)


def test_attributes_of_every_kind():
    b = amp.GraphBuilder("net")
    x = b.input("x", "f32", [1, 3, 8, 8])
    w = b.initializer("w", np.ones((5, 3, 3, 3), np.float32))
    y, = b.op("Conv", [x, w, None], attrs={"pads": [1, 1, 1, 1], "auto_pad": "NOTSET", "group": 1, "dilations": None})
    y, = b.op("LeakyRelu", [y], attrs={"alpha": 0.25})
    c, = b.op("Constant", [], attrs={"value": np.float32([1, 2])})
    s, = b.op("Constant", [], attrs={"value_strings": ["a", "b"]})
    f, = b.op("Constant", [], attrs={"value_floats": [1, 2.5]})
    for i, v in enumerate([y, c, s, f]):
        b.output(v, f"o{i}")
    text = b.finish().text()
    assert y.shape == [1, 5, 8, 8] and c.dtype == "f32" and c.shape == [2]
    for piece in "pads = array<i64: 1, 1, 1, 1>", "alpha = 2.500000e-01", 'auto_pad = "NOTSET"', '"a", "b"':
        assert piece in text


def test_large_initializers_are_not_copied():
    array = np.zeros((64, 64), np.float32)
    b = amp.GraphBuilder("net")
    x = b.input("x", "f32", [1, 64])
    y, = b.op("MatMul", [x, b.initializer("w", array)])
    b.output(y, "y")
    m = b.finish()
    array[0, 0] = 7
    assert "0x" in m.text(None) and "0000E040" in m.text(None).upper()  # 7.0 was written after the module was made
    kept = weakref.ref(array)
    del array, b, x, y
    gc.collect()
    assert kept() is not None, "the module keeps the array"
    del m
    gc.collect()
    assert kept() is None, "nothing keeps the array when the module is gone"


def test_initializers_of_every_form():
    b = amp.GraphBuilder("net")
    b.output(b.initializer("bf16", np.uint16([0x3F80, 0x4000]), dtype="bf16"), "a")
    b.output(b.initializer("bytes", np.float16([1, 2]).tobytes(), dtype="f16", shape=[2]), "b")
    b.output(b.initializer("bool", np.array([True, False])), "c")
    b.output(b.initializer("transposed", np.arange(6, dtype=np.float32).reshape(2, 3).T), "d")
    text = b.finish().text()
    for piece in ("dense<[1.000000e+00, 2.000000e+00]> : tensor<2xbf16>", "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>",
                  "dense<[true, false]> : tensor<2xi1>", "[0.000000e+00, 3.000000e+00]"):
        assert piece in text


def test_torch_tensors_are_initializers():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    b = amp.GraphBuilder("net")
    weight = torch.ones(3, dtype=torch.bfloat16)
    v = b.initializer("w", weight)
    assert (v.dtype, v.shape) == ("bf16", [3])


def test_autocast_regions_nest_and_yield_what_is_used():
    b = amp.GraphBuilder("net")
    x = b.input("x", "f32", [2, 4])
    w = b.initializer("w", np.zeros((4, 4), np.float32))
    with b.autocast(True, "f16", "torch-cuda"):
        h, = b.op("MatMul", [x, w])
        unused, = b.op("Relu", [h])
        with b.autocast(enabled=False):
            e, = b.op("Exp", [h])
        s, = b.op("Softmax", [e])
    y, = b.op("Add", [s, e])
    b.output(y, "y")
    m = b.finish()
    text = m.text()
    outer = text[text.index("amp.autocast"):]
    assert 'dtype = f16 policy = "torch-cuda" -> tensor<2x4xf32>, tensor<2x4xf32>' in outer
    assert "amp.autocast enabled = false -> tensor<2x4xf32>" in outer
    m.run_pipeline("autocast{dtype=bf16 policy=torch-cpu}")
    assert "tensor<2x4xf16>" in m.text() and "amp.autocast" not in m.text()


def test_attributes_with_a_dot_are_kept_beside():
    b = amp.GraphBuilder("net")
    y, = b.op("Identity", [b.initializer("", np.float32([1]))], attrs={"train.stop_gradient": True})
    b.output(y, "y")
    text = b.finish().text()
    assert "train.stop_gradient = true" in text and '"constant_0"' in text


def test_buffers_are_written_over():
    b = amp.GraphBuilder("net")
    count = b.input("count", "i64", [], role="buffer", init=np.array(3))
    one, = b.op("Constant", [], attrs={"value": np.array(1)})
    b.output(b.op("Add", [count, one])[0], "next.count", role="buffer", alias="count")
    text = b.finish().text()
    assert 'train.role = "buffer"' in text and "train.alias = 0" in text and "train.init = dense<3>" in text


@pytest.mark.parametrize("build, message", [
    (lambda b, x: b.op("Nope", [x], name="n", loc=("m.py", 3)), r"m\.py:3: node 'n': Nope: ONNX has no operator"),
    (lambda b, x: b.op("MatMul", [x], name="n"), r"node 'n': MatMul: it has 1 inputs"),
    (lambda b, x: b.op("MatMul", [x, x], loc=("m.py", 4)), r"m\.py:4: MatMul: .*[Ii]ncompatible"),
    (lambda b, x: b.op("Softmax", [x], attrs={"axes": 1}), "Softmax: it takes no attribute 'axes'"),
    (lambda b, x: b.op("Softmax", [x], attrs={"axis": "one"}), "attribute 'axis' is an int, but got 'one'"),
    (lambda b, x: b.op("Cast", [x]), r"the attribute 'to' \(an int\) is missing"),
    (lambda b, x: b.op("Add", [x, b.input("i", "i64", [4])]), "Add: .*expects one element type"),
    (lambda b, x: b.op("Not", [x]), "Not: .*operand"),
    (lambda b, x: b.op("If", [x]), "graphs inside"),
    (lambda b, x: b.op("Relu", ["x"]), "input 0 is no Value"),
    (lambda b, x: b.op("Relu", [amp.GraphBuilder("o").input("x", "f32", [1])]), "belongs to another graph"),
    (lambda b, x: b.input("x", "f32", [1]), "two values of the graph are called 'x'"),
    (lambda b, x: b.input("z", "f33", [1]), "'f33' is no element type"),
    (lambda b, x: b.input("z", "f32", [-1]), "size -1"),
    (lambda b, x: b.input("z", "f32", [1], role="king"), "'king' is no role"),
    (lambda b, x: b.initializer("z", "text"), "initializer 'z': expected a numpy array"),
    (lambda b, x: b.initializer("z", b"abc", dtype="f32", shape=[1]), "3 bytes were given for 1 elements of f32"),
    (lambda b, x: b.output(x, ""), "needs a name"),
    (lambda b, x: b.autocast(dtype="f8").__enter__(), "f16, bf16 or None"),
    (lambda b, x: b.output(x, "o", role="king"), "output 'o': 'king' is no role"),
    (lambda b, x: b.output(x, "o", alias="nothing"), "output 'o': it is written over 'nothing', which is no input"),
    (lambda b, x: b.finish(), "no output"),
    (lambda b, x: amp.GraphBuilder("g", 99), "opset 99 is not known"),
])
def test_errors_name_the_culprit(build, message):
    b = amp.GraphBuilder("net")
    x = b.input("x", "f32", [2, 4])
    with pytest.raises(amp.Error, match=message):
        build(b, x)
    y, = b.op("Relu", [x])  # an error leaves the builder usable
    b.output(y, "y")
    b.finish()


@pytest.mark.parametrize("pipeline, message", [("nope", "does not refer to a registered pass"), ("autocast{dtype=f8}", "f8"),
                                               ("autocast{dtype=f16 pin=nothing=f32}", "nothing")])
def test_pipeline_errors(pipeline, message):
    m = linear().finish()
    with pytest.raises(amp.Error, match=message):
        m.run_pipeline(pipeline)


def test_load_errors(tmp_path):
    with pytest.raises(amp.Error, match="cannot read"):
        amp.Module.load(str(tmp_path / "none.onnx"))
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(amp.Error, match="is empty"):
        amp.Module.load(str(tmp_path / "empty"))
    (tmp_path / "bad.onnx").write_bytes(b"\x08\xff")
    with pytest.raises(amp.Error, match="bad.onnx"):
        amp.Module.load(str(tmp_path / "bad.onnx"))
    (tmp_path / "text.mlir").write_text("hello")
    with pytest.raises(amp.Error, match="text.mlir:1"):
        amp.Module.load(str(tmp_path / "text.mlir"))
