"""Writes model.onnx, train.json and data.npz of one model for amp-compile and amp-run. Usage: training_inputs.py MODEL DTYPE FOLDER"""
import json
import sys
from pathlib import Path

import numpy as np

import training_models
from training_models import small as torch_models


def main(name, dtype, folder):
    folder = Path(folder)
    module, (inputs, labels), optimizer = training_models.build(name)
    (folder / "model.onnx").write_bytes(torch_models.export(module, inputs))
    config = {"loss": torch_models.CROSS_ENTROPY, "optimizer": optimizer}
    if dtype != "f32":
        config["autocast"] = {"dtype": dtype}
    (folder / "train.json").write_text(json.dumps(config))
    np.savez(folder / "data.npz", labels=labels, **inputs)


main(*sys.argv[1:])
