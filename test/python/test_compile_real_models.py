"""Real models, compiled with --inference, against ONNX Runtime."""
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper

import engines
from harness import MODELS, ROOT

BIN = ROOT / "build/bin"
#: Convolutional, recurrent, graph and attention networks with every size bound to 2 where it is open.
NAMES = ["attacut-c", "attacut-sc", "bak_ovr", "mnist-conv", "minimol_v1", "model_1", "model_2", "model_v8", "nmp", "nn_resize",
         "open-nsfw", "PP-OCRv6_rec_small", "residual_block_clean", "sdp", "sig", "subpixel"]
SIZE = 2


def _inputs(model):
    """Feeds, and the sizes of symbolic dimensions."""
    rng, feeds, sizes = np.random.default_rng(0), {}, {}
    initial = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in initial:
            continue
        kind, shape = value.type.tensor_type, []
        for axis, dim in enumerate(kind.shape.dim):
            if not dim.dim_value:
                sizes[dim.dim_param or f"{value.name}.{axis}"] = SIZE
            shape.append(dim.dim_value or SIZE)
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        random = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, SIZE, shape)
        feeds[value.name] = random.astype(dtype)
    return feeds, sizes


@pytest.mark.parametrize("name", NAMES)
def test_inference_agrees_with_onnx_runtime(name, tmp_path):
    path = next(MODELS.glob(f"*/**/{name}.onnx"), None)
    if path is None:
        pytest.skip("the model is not here: utils/fetch-models")
    model = onnx.load(path)
    feeds, sizes = _inputs(model)
    np.savez(tmp_path / "in.npz", **feeds)
    bind = [text for key, size in sizes.items() for text in ("--bind", f"{key}={size}")]
    for command in (["amp-compile", path, "--inference", *bind, "-o", tmp_path / "step"],
                    ["amp-run", "infer", tmp_path / "step", "--data", tmp_path / "in.npz", "-o", tmp_path / "out.npz"]):
        process = subprocess.run([BIN / command[0], *map(str, command[1:])], capture_output=True, text=True, timeout=300)
        assert process.returncode == 0, process.stderr
    results = np.load(tmp_path / "out.npz")
    for key, expected in engines.run_ort(model, feeds).items():
        # amp-run stacks outputs that have no row for each sample. Sums in another order: 1e-4 of the largest element.
        np.testing.assert_allclose(results[key].reshape(expected.shape), expected, rtol=0, atol=1e-4 * max(np.abs(expected).max(), 1e-3))
