"""Artifacts that are there already."""
import json
import os

from . import _runtime
from .cache import Opened
from .step import Inference, StepFacts, TrainingStep


def load(path, *, threads=0):
    """Opens an artifact that amp-compile wrote: a TrainingStep if it has a training step, else an Inference.

    path: the folder, or the archive of it. threads: of the calls; 0: one per core. Raises StepError. The compiler is not loaded.
    """
    step = _runtime.Step(os.fspath(path), threads)
    info = json.loads(step.info)
    if "train_step" not in step.entries:
        return Inference(Opened(step, None), info["model"])
    options = {key: tuple(value) if key == "betas" else value for key, value in info["optimizer"].items() if key not in ("kind", "groups")}
    return TrainingStep(Opened(step, None), info["model"], None, StepFacts(info["scaler"], [], [options]))
