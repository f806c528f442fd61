"""Files that are broken, hostile or can't be written: exit 1, a message that names the culprit, no output, never a signal."""
import os
import random
import signal
import stat
import subprocess
import time
import warnings

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import corpus
from harness import FULL, amp_opt, amp_opt_path, autocast_option
from small import F32, floats, identity, make_model, model

TIMEOUT = 60


def good():
    """A small model with names worth naming."""
    proto = model("g (float[2,2] X) => (float[2,2] Y) { hidden = MatMul(X, weight) Y = Relu(hidden) }", {"weight": identity(2)})
    for node, name in zip(proto.graph.node, ("the-product", "the-relu")):
        node.name = name
    return proto


def refuse(data, folder, *names, options=()):
    """amp-opt must refuse these bytes and say each of `names`; without options the round trip, else with them."""
    source, target = folder / "bad.onnx", folder / "out.onnx"
    source.write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
    run = amp_opt(source, *options, "-o", target, timeout=TIMEOUT)
    assert run.code == 1 and not run.signal and not run.timed_out, run.describe()
    assert not target.exists(), "an output was left: " + run.describe()
    assert run.stderr.strip(), "no message: " + run.describe()
    for name in names:
        assert name in run.stderr, f"the message does not name {name}: " + run.describe()
    assert_tidy(folder)
    return run.stderr


def survive(data, folder, options=()):
    """amp-opt accepts or refuses these bytes, but ends by itself; an output that is left can be read."""
    source, target = folder / "bad.onnx", folder / "out.onnx"
    source.write_bytes(data)
    target.unlink(missing_ok=True)
    run = amp_opt(source, *options, "-o", target, timeout=TIMEOUT)
    assert not run.signal and not run.timed_out and run.code in (0, 1), run.describe()
    if run.code:
        assert not target.exists() and run.stderr.strip(), run.describe()
    else:
        onnx.load(target, load_external_data=False)
    return run


def assert_tidy(folder, allowed=("bad.onnx",)):
    left = [p.name for p in folder.iterdir() if p.is_file() and p.name not in allowed and p.suffix not in (".bin", ".data")]
    assert not left, f"left behind: {left}"


both = pytest.mark.parametrize("options", [(), (autocast_option("f16"),)], ids=["round trip", "autocast"])


# ---- bytes -----------------------------------------------------------------------------------------------------------------

def _wheel():
    return [case for case in corpus.onnx_suite() if case.name in ("node/test_loop11", "node/test_if_seq", "simple/test_sequence_model1", "node/test_lstm_defaults")]


def _seeds():
    return [("small", good().SerializeToString())] + [(case.name, open(case.path, "rb").read()) for case in _wheel()]


@pytest.mark.parametrize("name, data", _seeds(), ids=lambda v: v if isinstance(v, str) else "")
@both
def test_truncated(tmp_path, name, data, options):
    step = 1 if FULL and len(data) < 2000 else max(1, len(data) // (60 if FULL else 12))
    for size in range(1, len(data), step):
        survive(data[:size], tmp_path, options)


@pytest.mark.parametrize("name, data", _seeds(), ids=lambda v: v if isinstance(v, str) else "")
@both
def test_bits_flipped(tmp_path, name, data, options):
    rng = random.Random(name)
    for _ in range(200 if FULL else 20):
        broken = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            position = rng.randrange(len(broken))
            broken[position] ^= 1 << rng.randrange(8)
        survive(bytes(broken), tmp_path, options)


@pytest.mark.parametrize("data", [b"", b"\0" * 4096, b"\xff" * 4096, b"PK\x03\x04" + b"\0" * 4092, os.urandom(64) * 64, b"\x0a" * 1000],
                         ids=["empty", "zeros", "ones", "zip of zeros", "noise", "tags"])
def test_no_model_at_all(tmp_path, data):
    refuse(data, tmp_path, "bad.onnx")


def test_missing_file(tmp_path):
    run = amp_opt(tmp_path / "nowhere.onnx", "-o", tmp_path / "out.onnx")
    assert run.code == 1 and "nowhere.onnx" in run.stderr, run.describe()


def test_folder_as_input(tmp_path):
    run = amp_opt(tmp_path, "-o", tmp_path / "out.onnx")
    assert run.code == 1 and not run.signal and run.stderr.strip(), run.describe()


# ---- graphs ----------------------------------------------------------------------------------------------------------------

@both
def test_cycle(tmp_path, options):
    proto = good()
    proto.graph.node[0].input[0] = "Y"
    refuse(proto, tmp_path, "the-product", "the-relu", options=options)


@both
def test_duplicate_value(tmp_path, options):
    proto = good()
    proto.graph.node[1].output[0] = "hidden"
    refuse(proto, tmp_path, "hidden", options=options)


def test_duplicate_initializer(tmp_path):
    proto = good()
    proto.graph.initializer.append(proto.graph.initializer[0])
    refuse(proto, tmp_path, "weight")


@both
def test_missing_producer(tmp_path, options):
    proto = good()
    proto.graph.node[1].input[0] = "nobody-makes-this"
    refuse(proto, tmp_path, "nobody-makes-this", options=options)


def test_output_that_nothing_produces(tmp_path):
    proto = good()
    proto.graph.output[0].name = "nobody-makes-this"
    refuse(proto, tmp_path, "nobody-makes-this")


def test_capture_of_a_missing_value(tmp_path):
    proto = model("""g (bool c, float[2] X) => (float[2] Y) { Y = If(c) < then_branch = t () => (float[2] a) { a = Relu(X) },
        else_branch = e () => (float[2] b) { b = Neg(X) }> }""")
    proto.graph.node[0].attribute[0].g.node[0].input[0] = "nobody-makes-this"
    refuse(proto, tmp_path, "nobody-makes-this")


@pytest.mark.parametrize("change, names", [
    (lambda p: p.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.eye(2, dtype=np.int64), "weight")), ["the-product"]),
    (lambda p: p.graph.input[0].CopyFrom(helper.make_tensor_value_info("X", TensorProto.BOOL, [2, 2])), ["the-product"]),
    (lambda p: p.graph.node[0].input.append("X"), ["the-product"]),
    (lambda p: p.graph.node[0].input.pop(), ["the-product"]),
    (lambda p: p.graph.node[0].output.append("more"), ["the-product"]),
    (lambda p: p.graph.node[0].ClearField("output"), ["the-product"]),
], ids=["mixed types", "bool product", "too many inputs", "too few inputs", "too many outputs", "no outputs"])
def test_node_against_its_schema(tmp_path, change, names):
    proto = good()
    change(proto)
    refuse(proto, tmp_path, *names)


def test_unknown_attribute_is_kept_and_told(tmp_path):
    proto = good()
    proto.graph.node[1].attribute.append(helper.make_attribute("alpha", "text"))
    assert "the-relu" in survive(proto.SerializeToString(), tmp_path).stderr


@pytest.mark.parametrize("kind, value", [("wrong kind", helper.make_attribute("axis", "one")), ("out of range", helper.make_attribute("axis", 99))])
def test_attribute_value(tmp_path, kind, value):
    proto = model("g (float[2,2] X) => (float[2,2] Y) { Y = Softmax(X) }")
    proto.graph.node[0].name = "the-softmax"
    proto.graph.node[0].attribute.append(value)
    refuse(proto, tmp_path, "the-softmax")


def test_string_attribute_out_of_range(tmp_path):
    proto = model('g (float[1,1,2,2] X) => (float[1,1,4,4] Y) { Y = Resize(X, "", S) }', {"S": floats([1, 1, 2, 2])})
    proto.graph.node[0].name = "the-resize"
    proto.graph.node[0].attribute.append(helper.make_attribute("mode", "no-such-mode"))
    survive(proto.SerializeToString(), tmp_path)


@pytest.mark.parametrize("number", [99, -1, 2**31 - 1])
@pytest.mark.parametrize("where", ["input", "initializer", "cast"])
def test_element_type_out_of_range(tmp_path, number, where):
    proto = good()
    if where == "input":
        proto.graph.input[0].type.tensor_type.elem_type = number
        refuse(proto, tmp_path, "X")
    elif where == "initializer":
        proto.graph.initializer[0].data_type = number
        refuse(proto, tmp_path, "weight")
    else:
        proto = model("g (float[2] X) => (float[2] Y) { h = Cast<to=10>(X) Y = Cast<to=1>(h) }")
        proto.graph.node[0].name, proto.graph.node[0].attribute[0].i = "the-cast", number
        refuse(proto, tmp_path, "the-cast")


def test_attribute_kind_out_of_range(tmp_path):
    proto = model("g (float[2,2] X) => (float[2,2] Y) { Y = Softmax<axis=1>(X) }")
    data = proto.SerializeToString().replace(bytes([0xA0, 0x01, AttributeProto.INT]), bytes([0xA0, 0x01, 77]))
    assert data != proto.SerializeToString()
    survive(data, tmp_path)


def test_no_opset(tmp_path):
    proto = good()
    del proto.opset_import[:]
    survive(proto.SerializeToString(), tmp_path)


# ---- tensors ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dims", [[-1, 4], [2**62, 2**62], [2**31, 2**31], [2**63 - 1], [2, 3], [0, 4], []], ids=str)
@both
def test_dims_that_do_not_fit_the_data(tmp_path, dims, options):
    proto = good()
    del proto.graph.initializer[0].dims[:]
    proto.graph.initializer[0].dims.extend(dims)
    refuse(proto, tmp_path, "weight", options=options)


@pytest.mark.parametrize("size", [0, 1, 15, 17, 64])
def test_data_of_another_size(tmp_path, size):
    proto = good()
    proto.graph.initializer[0].raw_data = b"\0" * size
    refuse(proto, tmp_path, "weight")


def test_data_in_the_wrong_field(tmp_path):
    proto = good()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.int64_data.extend([1, 2, 3, 4])
    refuse(proto, tmp_path, "weight")


def test_tensor_attribute_too_short(tmp_path):
    proto = model("g () => (float[4] Y) { Y = Constant<value = float[4] {1, 2, 3, 4}>() }")
    proto.graph.node[0].name = "the-constant"
    proto.graph.node[0].attribute[0].t.CopyFrom(TensorProto(dims=[4], data_type=F32, raw_data=b"\0" * 5))
    refuse(proto, tmp_path, "the-constant")


def test_negative_input_dim_is_kept_or_refused(tmp_path):
    proto = good()
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -3
    survive(proto.SerializeToString(), tmp_path)


# ---- external data ---------------------------------------------------------------------------------------------------------

def external(location, offset="0", length="16"):
    proto = good()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    return proto


@pytest.fixture
def weights(tmp_path):
    """A model folder with w.bin in it, and a secret beside the folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "w.bin").write_bytes(np.eye(2, dtype=np.float32).tobytes())
    (tmp_path / "secret.bin").write_bytes(b"secret-secret-16")
    return folder


def test_external_data_is_read(weights):
    source, target = weights / "ok.onnx", weights / "out.onnx"
    source.write_bytes(external("w.bin").SerializeToString())
    run = amp_opt(source, "-o", target)
    assert run.ok, run.describe()
    np.testing.assert_array_equal(numpy_helper.to_array(onnx.load(target).graph.initializer[0]), np.eye(2))


@pytest.mark.parametrize("location", ["../secret.bin", "sub/../../secret.bin", "./../secret.bin", "ABSOLUTE", "link.bin", "linked/secret.bin", "", ".", "missing.bin", "a\0b"])
@both
def test_external_path_that_leaves_the_folder(weights, location, options):
    (weights / "link.bin").symlink_to(weights.parent / "secret.bin")
    (weights / "linked").symlink_to(weights.parent)
    if location == "ABSOLUTE":
        location = str(weights.parent / "secret.bin")
    assert "secret-secret" not in refuse(external(location), weights, "weight", options=options)


@pytest.mark.parametrize("offset, length", [("0", "32"), ("1", "16"), ("16", "16"), ("-4", "16"), ("0", "-16"), ("0", "8"), ("9223372036854775807", "16"),
                                            ("0", "99999999999999999999"), ("x", "16"), ("0", "x"), ("4096", None)], ids=str)
def test_external_range_beyond_the_file(weights, offset, length):
    refuse(external("w.bin", offset, length), weights, "weight")


def test_external_file_is_a_pipe(weights):
    os.mkfifo(weights / "pipe.bin")
    refuse(external("pipe.bin"), weights, "weight")


# ---- depth -----------------------------------------------------------------------------------------------------------------

def _nested(depth):
    graph = helper.make_graph([helper.make_node("Relu", ["X"], ["y0"])], "g0", [], [helper.make_tensor_value_info("y0", F32, [2])])
    for level in range(1, depth):
        node = helper.make_node("If", ["c"], [f"y{level}"], then_branch=graph, else_branch=helper.make_graph(
            [helper.make_node("Neg", ["X"], [f"z{level}"])], f"e{level}", [], [helper.make_tensor_value_info(f"z{level}", F32, [2])]))
        graph = helper.make_graph([node], f"g{level}", [], [helper.make_tensor_value_info(f"y{level}", F32, [2])])
    graph.input.extend([helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_tensor_value_info("X", F32, [2])])
    return make_model(graph)


def test_moderate_nesting_works(tmp_path):
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(_nested(12).SerializeToString())
    run = amp_opt(source, "-o", target)
    assert run.ok, run.describe()


def _nest_bytes(depth):
    """A model whose graph attribute nests far deeper than protobuf's own limit, built as bytes."""
    def field(number, payload):
        size, out = len(payload), bytearray([number << 3 | 2])
        while size > 127:
            out.append(size & 127 | 128)
            size >>= 7
        return bytes(out + bytearray([size])) + payload
    graph = b""
    for _ in range(depth):
        graph = field(1, field(5, field(6, graph)))  # GraphProto.node { attribute { g { ... } } }
    return b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11")


@pytest.mark.parametrize("depth", [200, 5000, 50000])
def test_deep_nesting_is_refused(tmp_path, depth):
    refuse(_nest_bytes(depth), tmp_path)


@both
def test_long_chain_does_not_recurse(tmp_path, options):
    count = 20000
    body = [helper.make_node("Neg", ["X" if i == 0 else f"v{i - 1}"], [f"v{i}"]) for i in range(count)]
    graph = helper.make_graph(body, "g", [helper.make_tensor_value_info("X", F32, [2])], [helper.make_tensor_value_info(f"v{count - 1}", F32, [2])])
    (tmp_path / "in.onnx").write_bytes(make_model(graph).SerializeToString())
    run = amp_opt(tmp_path / "in.onnx", *options, "-o", tmp_path / "out.onnx", timeout=TIMEOUT)
    assert run.ok, run.describe()


# ---- output ----------------------------------------------------------------------------------------------------------------

@pytest.fixture
def source(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(good().SerializeToString())
    return tmp_path / "bad.onnx"


def test_output_in_a_missing_folder(source, tmp_path):
    run = amp_opt(source, "-o", tmp_path / "nowhere/out.onnx")
    assert run.code == 1 and "nowhere/out.onnx" in run.stderr, run.describe()


def test_output_is_a_folder(source, tmp_path):
    (tmp_path / "out.onnx").mkdir()
    run = amp_opt(source, "-o", tmp_path / "out.onnx")
    assert run.code == 1 and "out.onnx" in run.stderr, run.describe()
    assert_tidy(tmp_path)


def test_output_is_a_full_device(source, tmp_path):
    """A device of our own, so that a writer that renames over its target can't harm the machine's."""
    device = tmp_path / "full.bin"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        open(device, "wb").close()
    except OSError as error:
        pytest.skip(f"making a device is not allowed here: {error}")
    run = amp_opt(source, "--emit=onnx", "-o", device)
    assert run.code == 1 and "full.bin" in run.stderr, run.describe()
    assert stat.S_ISCHR(os.stat(device).st_mode)


def test_standard_output_is_full(source):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([amp_opt_path(), source, "--emit=onnx", "-o", "-"], stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT)
    assert done.returncode == 1 and done.stderr.strip()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB; needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def _big(path, mib):
    """A model of this many MiB."""
    weight = np.random.default_rng(0).standard_normal((mib, 1 << 18)).astype(np.float32)
    proto = model(f"g (float[1,{mib}] X) => (float[1,{1 << 18}] Y) {{ Y = MatMul(X, weight) }}", {"weight": weight})
    path.write_bytes(proto.SerializeToString())


@both
def test_disk_full(small_disk, tmp_path, options):
    _big(tmp_path / "big.onnx", 4)
    old = small_disk / "out.onnx"
    old.write_bytes(b"old")
    run = amp_opt(tmp_path / "big.onnx", *options, "-o", old)
    assert run.code == 1 and not run.signal and "out.onnx" in run.stderr, run.describe()
    assert old.read_bytes() == b"old" and [p.name for p in small_disk.iterdir()] == ["out.onnx"]


def test_killed_while_writing(tmp_path):
    """Whenever the process dies, the old file or the whole new one is there."""
    _big(tmp_path / "big.onnx", 64)
    target, whole = tmp_path / "out.onnx", tmp_path / "whole.onnx"
    run = amp_opt(tmp_path / "big.onnx", "-o", whole)
    assert run.ok, run.describe()
    finished, killed = whole.read_bytes(), 0
    for part in range(1, 9):
        target.write_bytes(b"old")
        child = subprocess.Popen([amp_opt_path(), tmp_path / "big.onnx", "-o", target], stderr=subprocess.DEVNULL)
        time.sleep(run.seconds * part / 9)
        child.send_signal(signal.SIGKILL)
        killed += child.wait() != 0
        now = target.read_bytes()
        assert now == b"old" or now == finished, f"a torn file of {len(now)} bytes"
    if not killed:
        warnings.warn("every run ended before it was killed")


# ---- options ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, names", [
    (["--autocast=dtype=f17"], ["f17"]), (["--autocast=dtype=f16 policy=no-such-policy"], ["no-such-policy"]), (["--autocast=dtype=f16 nonsense=1"], ["nonsense"]),
    (["--autocast=dtype=f16 deny=NoSuchOp"], ["NoSuchOp"]), (["--autocast=dtype=f16 allow=Relu deny=Relu"], ["Relu"]),
    (["--autocast=dtype=f16 pin=[=f32"], ["["]), (["--autocast=dtype=f16 pin=the-product=f99"], ["f99"]), (["--no-such-option"], ["no-such-option"])],
    ids=lambda v: " ".join(v) if isinstance(v, list) and v and v[0].startswith("--") else "")
def test_options(source, tmp_path, options, names):
    run = amp_opt(source, *options, "-o", tmp_path / "out.onnx")
    assert run.code == 1 and not run.signal, run.describe()
    assert all(name in run.stderr for name in names), run.describe()
    assert not (tmp_path / "out.onnx").exists()


def test_report_that_cannot_be_written(source, tmp_path):
    run = amp_opt(source, autocast_option("f16"), "-o", tmp_path / "out.onnx", f"--report={tmp_path}/nowhere/r.json")
    assert run.code == 1 and "nowhere/r.json" in run.stderr, run.describe()
