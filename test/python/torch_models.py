"""Models that PyTorch and amp-compile both train, small enough for a test. `build(name)` gives the module, a batch maker, the
train.json loss and optimizer, and the PyTorch optimizer; `export` writes the ONNX file with its training-mode operators."""

import io
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    def __init__(self, sizes=(20, 64, 32, 5)):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut = nn.Identity()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet-18's shape: a stem, stages of two blocks, average pooling."""

    def __init__(self, width=8, stages=(1, 2, 4, 8), classes=10):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        blocks, channels = [], width
        for index, factor in enumerate(stages):
            out = width * factor
            blocks += [Block(channels, out, 1 if index == 0 else 2), Block(out, out, 1)]
            channels = out
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(channels, classes)

    def forward(self, x):
        y = self.blocks(F.max_pool2d(F.relu(self.bn(self.stem(x))), 3, 1, 1))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(y, 1), 1))


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5
        if self.causal:
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads, hidden, pre, causal, gelu):
        super().__init__()
        self.pre, self.gelu = pre, gelu
        self.attention = Attention(width, heads, causal)
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        feed = lambda t: self.fc2(F.gelu(self.fc1(t), approximate=self.gelu))
        if self.pre:
            x = x + self.attention(self.norm1(x))
            return x + feed(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + feed(x))


class Encoder(nn.Module):
    """BERT's shape: post-norm, erf Gelu, mean pooling."""

    def __init__(self, vocabulary=97, width=32, layers=2, heads=4, length=16, classes=4):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads, 4 * width, False, False, "none") for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, ids):
        x = self.norm(self.token(ids) + self.position.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


class Decoder(nn.Module):
    """GPT-2's shape: pre-norm, tanh Gelu, causal, head tied to the embedding."""

    def __init__(self, vocabulary=61, width=32, layers=2, heads=4, length=16):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, heads, 4 * width, True, True, "tanh") for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.token.weight, std=0.02), nn.init.normal_(self.position.weight, std=0.02)

    def forward(self, ids):
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.token.weight).flatten(0, 1)


class LSTMClassifier(nn.Module):
    def __init__(self, vocabulary=50, width=16, hidden=24, classes=3):
        super().__init__()
        self.token, self.lstm, self.head = nn.Embedding(vocabulary, width), nn.LSTM(width, hidden), nn.Linear(hidden, classes)

    def forward(self, ids):
        _, (h, _) = self.lstm(self.token(ids).transpose(0, 1))
        return self.head(h[-1])


class DLRM(nn.Module):
    """Embeddings and a bottom MLP, pairwise interaction, a top MLP, one logit."""

    def __init__(self, fields=3, rows=20, width=8):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.bottom, self.top1, self.top2 = nn.Linear(5, width), nn.Linear(width + 6, 16), nn.Linear(16, 1)
        left, right = np.tril_indices(fields + 1, -1)
        self.register_buffer("pairs", torch.tensor(left * (fields + 1) + right))

    def forward(self, dense, ids):
        x = F.relu(self.bottom(dense))
        features = torch.stack([x] + [table(ids[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.flatten(features @ features.transpose(1, 2), 1)[:, self.pairs]
        return self.top2(F.relu(self.top1(torch.cat([x, products], 1)))).squeeze(1)


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, width, 3, 1, 1), nn.Conv2d(width, 2 * width, 3, 1, 1)
        self.norm1, self.norm2 = nn.GroupNorm(2, width), nn.GroupNorm(2, 2 * width)
        self.up, self.mix, self.head = nn.ConvTranspose2d(2 * width, width, 2, 2), nn.Conv2d(2 * width, width, 3, 1, 1), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = F.relu(self.norm1(self.down1(x)))
        b = F.relu(self.norm2(self.down2(F.max_pool2d(a, 2))))
        return self.head(F.relu(self.mix(torch.cat([a, self.up(b)], 1))))


CROSS_ENTROPY = {"softmax_cross_entropy": {"logits": "logits", "labels": "labels"}}
SGD = {"sgd": {"lr": 0.05, "momentum": 0.9}}
ADAMW = {"adamw": {"lr": 1e-3, "weight_decay": 0.01}}


def _images(channels, size, classes, count, pixels=False):
    def make(rng):
        x = rng.standard_normal((count, channels, size, size), dtype=np.float32)
        shape = (count, size, size) if pixels else (count,)
        return {"x": x}, rng.integers(0, classes, shape)
    return make


def _tokens(vocabulary, length, classes, count, per_token=False):
    def make(rng):
        ids = rng.integers(0, vocabulary, (count, length))
        labels = np.roll(ids, -1, 1).reshape(-1) if per_token else rng.integers(0, classes, (count,))
        return {"ids": ids}, labels
    return make


def _rows(rng):
    x = rng.standard_normal((32, 20), dtype=np.float32)
    return {"x": x}, x[:, :5].argmax(1)


def _clicks(rng):
    dense = rng.standard_normal((24, 5), dtype=np.float32)
    return {"dense": dense, "ids": rng.integers(0, 20, (24, 3))}, (dense[:, 0] > 0).astype(np.float32)


BCE = {"bce_with_logits": {"logits": "logits", "labels": "labels"}}

# name: module, batch maker, loss, optimizer, further keys of train.json
MODELS = {
    "mlp": (MLP, _rows, CROSS_ENTROPY, SGD, {}),
    "resnet": (ResNet, _images(3, 16, 10, 16), CROSS_ENTROPY, {"sgd": {"lr": 2e-5, "momentum": 0.9}}, {}),
    "encoder": (Encoder, _tokens(97, 16, 4, 4), CROSS_ENTROPY, ADAMW, {"clip": {"norm": 1.0}}),
    "decoder": (Decoder, _tokens(61, 16, 0, 4, True), CROSS_ENTROPY, ADAMW, {"accumulate": 4}),
    "lstm": (LSTMClassifier, _tokens(50, 12, 3, 6), CROSS_ENTROPY, ADAMW, {}),
    "dlrm": (DLRM, _clicks, BCE, SGD, {}),
    "unet": (UNet, _images(1, 8, 2, 4, True), CROSS_ENTROPY, ADAMW, {}),
}


def build(name):
    """Module with seed 0, batch maker (generator -> (inputs, labels)), and the train.json that goes with it."""
    module, batch, loss, optimizer, extra = MODELS[name]
    torch.manual_seed(0)
    return module(), batch, {"loss": loss, "optimizer": optimizer, **extra}


def export(module, inputs):
    """Bytes of the ONNX model in training mode; parameters keep PyTorch's names. Shapes are those of `inputs`."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, tuple(torch.from_numpy(v) for v in inputs.values()), stream, input_names=list(inputs),
                          output_names=["logits"], training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          opset_version=18, dynamo=False)
    return stream.getvalue()
