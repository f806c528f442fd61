"""The models of benchmarks/training: PyTorch modules of full size, one fixed batch each, with the optimizer both sides use."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test/python"))

import numpy as np  # noqa: E402
import torch  # noqa: E402

import torch_models as small  # noqa: E402

SGD = {"sgd": {"lr": 0.02, "momentum": 0.9, "weight_decay": 5e-4}}
ADAMW = {"adamw": {"lr": 3e-4, "weight_decay": 0.01}}


def _image(rng, shape, classes):
    return {"x": rng.standard_normal(shape, dtype=np.float32)}, rng.integers(0, classes, shape[:1])


def _tokens(rng, vocabulary, shape, classes=None):
    ids = rng.integers(0, vocabulary, shape)
    return {"ids": ids}, rng.integers(0, classes, shape[:1]) if classes else np.roll(ids, -1, 1).reshape(-1)


MODELS = {
    "mlp": (lambda: small.MLP((784, 1024, 1024, 10)), lambda rng: _image(rng, (128, 784), 10), SGD),
    "resnet18": (lambda: small.ResNet(64), lambda rng: _image(rng, (32, 3, 32, 32), 10), SGD),
    "minilm": (lambda: small.Encoder(30522, 384, 6, 12, 128), lambda rng: _tokens(rng, 30522, (8, 128), 4), ADAMW),
    "gpt2-tiny": (lambda: small.Decoder(512, 256, 4, 8, 128), lambda rng: _tokens(rng, 512, (8, 128)), ADAMW),
    "gpt2-124m": (lambda: small.Decoder(50257, 768, 12, 12, 1024), lambda rng: _tokens(rng, 50257, (1, 64)), ADAMW),
}


def build(name):
    """Module with seed 0, its batch (inputs, labels), the optimizer of train.json."""
    module, batch, optimizer = MODELS[name]
    torch.manual_seed(0)
    return module(), batch(np.random.default_rng(0)), optimizer
