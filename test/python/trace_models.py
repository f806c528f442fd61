"""Small modules in the shapes of well-known networks, written as users write them. `MODELS` gives for each a maker of the module and of
its inputs; all are deterministic, so that a traced program can be compared with eager runs."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_models import MODELS as TRAINED


class InvertedResidual(nn.Module):
    """MobileNet's block with squeeze and excitation."""

    def __init__(self, width, out, activation):
        super().__init__()
        hidden = 2 * width
        self.expand = nn.Sequential(nn.Conv2d(width, hidden, 1, bias=False), nn.BatchNorm2d(hidden), activation(inplace=True))
        self.depth = nn.Sequential(nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), activation(inplace=True))
        self.squeeze, self.excite = nn.Conv2d(hidden, 4, 1), nn.Conv2d(4, hidden, 1)
        self.project = nn.Sequential(nn.Conv2d(hidden, out, 1, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.depth(self.expand(x))
        gate = F.hardsigmoid(self.excite(F.relu_(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        y = self.project(y * gate)
        return x + y if x.shape == y.shape else y


def mobilenet():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), InvertedResidual(8, 8, nn.ReLU6), InvertedResidual(8, 12, nn.Hardswish),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.0), nn.Linear(12, 5))


class ConvNeXt(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.depth = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)
        return self.head((x + y).mean([-2, -1]))


class VisionTransformer(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        return self.head(self.encoder(x)[:, 0])


class Rotary(nn.Module):
    def __init__(self, size, length):
        super().__init__()
        angles = torch.outer(torch.arange(length).float(), 10000 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos(), persistent=False)
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin(), persistent=False)

    def forward(self, x):
        left, right = x.chunk(2, dim=-1)
        length = x.shape[-2]
        return x * self.cos[:length] + torch.cat((-right, left), dim=-1) * self.sin[:length]


class RMSNorm(nn.Module):
    """As language models write it, with the way to float32 and back."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        kept = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(kept)


class LlamaLayer(nn.Module):
    def __init__(self, width=16, heads=4, groups=2, length=8):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up, self.down = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False), nn.Linear(24, width, bias=False)
        self.norm1, self.norm2 = RMSNorm(width), nn.RMSNorm(width, eps=1e-6)
        self.rotary = Rotary(self.size, length)

    def forward(self, x):
        batch, length, width = x.shape
        h = self.norm1(x)
        q, k, v = (layer(h).view(batch, length, -1, self.size).transpose(1, 2) for layer in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(self.rotary(q), self.rotary(k), v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(31, 16)
        self.layers = nn.ModuleList(LlamaLayer() for _ in range(2))
        self.norm = RMSNorm(16)

    def forward(self, ids):
        x = self.token(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.token.weight.t()


class BertEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.kinds, self.places = nn.Embedding(40, 16, padding_idx=0), nn.Embedding(2, 16), nn.Embedding(12, 16)
        self.norm = nn.LayerNorm(16, eps=1e-12)
        self.register_buffer("position_ids", torch.arange(12).expand((1, -1)))

    def forward(self, ids, kinds=None):
        if kinds is None:
            kinds = torch.zeros_like(ids)
        return self.norm(self.words(ids) + self.kinds(kinds) + self.places(self.position_ids[:, : ids.shape[1]]))


class Bert(nn.Module):
    """Masked language model with an additive attention mask."""

    def __init__(self):
        super().__init__()
        self.embeddings = BertEmbeddings()
        self.query, self.key, self.value, self.dense = (nn.Linear(16, 16) for _ in range(4))
        self.norm, self.inner, self.outer = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)
        self.pooler, self.bias = nn.Linear(16, 16), nn.Parameter(torch.zeros(40))

    def forward(self, ids, mask):
        x = self.embeddings(ids)
        extended = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(torch.float32).min
        def heads(t):
            return t.view(t.size(0), t.size(1), 4, 4).permute(0, 2, 1, 3)
        scores = heads(self.query(x)) @ heads(self.key(x)).transpose(-1, -2) / math.sqrt(4)
        weights = F.softmax(scores + extended, dim=-1)
        context = (weights @ heads(self.value(x))).permute(0, 2, 1, 3).contiguous()
        x = self.norm(x + self.dense(context.view(*context.shape[:2], 16)))
        x = self.norm(x + self.outer(F.gelu(self.inner(x))))
        return {"logits": F.linear(x, self.embeddings.words.weight, self.bias), "pooled": torch.tanh(self.pooler(x[:, 0]))}


class T5Attention(nn.Module):
    """Relative positions in logarithmic buckets, computed in the graph."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(8, 2)
        self.qkv = nn.Linear(8, 24, bias=False)

    def bucket(self, distance):
        sign = (distance > 0).to(torch.long) * 4
        distance = torch.abs(distance)
        small = distance < 2
        large = 2 + (torch.log(distance.float() / 2) / math.log(16 / 2) * 2).to(torch.long)
        return sign + torch.where(small, distance, torch.min(large, torch.full_like(large, 3)))

    def forward(self, x):
        length = x.shape[1]
        places = torch.arange(length, device=x.device)
        bias = self.bias(self.bucket(places[None, :] - places[:, None])).permute(2, 0, 1).unsqueeze(0)
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 4)).unbind(2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) + bias
        return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2)


class SwinBlock(nn.Module):
    """Shifted windows: roll, partition, attention with a mask, and back."""

    def __init__(self, width=8, size=8, window=4):
        super().__init__()
        self.window, self.shift = window, window // 2
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        regions = torch.zeros(1, size, size, 1)
        for number, (rows, columns) in enumerate((r, c) for r in self.slices() for c in self.slices()):
            regions[:, rows, columns] = number
        parts = self.partition(regions).squeeze(-1)
        self.register_buffer("mask", (parts.unsqueeze(1) != parts.unsqueeze(2)).float() * -100.0)

    def slices(self):
        return slice(0, -self.window), slice(-self.window, -self.shift), slice(-self.shift, None)

    def partition(self, x):
        batch, height, width, channels = x.shape
        w = self.window
        return x.view(batch, height // w, w, width // w, w, channels).transpose(2, 3).reshape(-1, w * w, channels)

    def forward(self, x):
        batch, height, width, channels = x.shape
        w = self.window
        windows = self.partition(torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2)))
        q, k, v = self.qkv(windows).chunk(3, -1)
        scores = (q * channels**-0.5) @ k.transpose(-2, -1)
        scores = scores.view(batch, -1, w * w, w * w) + self.mask.unsqueeze(0)
        y = self.out(scores.view(-1, w * w, w * w).softmax(-1) @ v)
        y = y.view(batch, height // w, width // w, w, w, channels).transpose(2, 3).reshape(batch, height, width, channels)
        return x + torch.roll(y, (self.shift, self.shift), (1, 2))


class DiffusionUNet(nn.Module):
    """Time embedding, group norms, nearest upsampling, concatenated skips."""

    def __init__(self, width=8):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, 16), nn.SiLU(), nn.Linear(16, 2 * width))
        self.inlet, self.down = nn.Conv2d(2, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.norm1, self.norm2 = nn.GroupNorm(4, width), nn.GroupNorm(4, 2 * width)
        self.up, self.outlet = nn.Conv2d(2 * width, width, 3, padding=1), nn.Conv2d(2 * width, 2, 3, padding=1)

    def forward(self, x, step):
        frequencies = torch.exp(-math.log(10000.0) * torch.arange(4, dtype=torch.float32) / 4)
        angles = step[:, None].float() * frequencies[None]
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        skip = F.silu(self.norm1(self.inlet(x)), inplace=True)
        y = F.silu(self.norm2(self.down(skip)) + time[:, :, None, None])
        y = self.up(F.interpolate(y, scale_factor=2.0, mode="nearest"))
        return self.outlet(torch.cat([y, skip], dim=1))


class SegmentationHead(nn.Module):
    """Atrous pyramid with bilinear resizing."""

    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList(nn.Conv2d(3, 4, 3, padding=d, dilation=d) for d in (1, 2, 3))
        self.pool, self.mix = nn.Conv2d(3, 4, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        size = x.shape[-2:]
        parts = [F.relu(branch(x)) for branch in self.branches]
        parts.append(F.interpolate(F.relu(self.pool(F.avg_pool2d(x, 2))), size=size, mode="bilinear", align_corners=False))
        return F.interpolate(self.mix(torch.cat(parts, 1)), scale_factor=2, mode="bilinear", align_corners=True)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(20, 16), nn.Embedding(20, 16)
        self.transformer = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(6))
        self.head = nn.Linear(16, 20)

    def forward(self, source, target):
        return self.head(self.transformer(self.source(source), self.target(target), tgt_mask=self.mask, tgt_is_causal=True))


class WaveNet(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.inlet = nn.Conv1d(1, width, 1)
        self.layers = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**i) for i in range(3))
        self.skips = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(3))
        self.outlet = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        x, total = self.inlet(x), 0
        for index, (layer, skip) in enumerate(zip(self.layers, self.skips)):
            filtered, gate = layer(F.pad(x, (2**index, 0))).chunk(2, 1)
            y = skip(torch.tanh(filtered) * torch.sigmoid(gate))
            total = total + y
            x = x + y
        return self.outlet(F.relu(total))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.token = nn.Embedding(15, 6)
        self.rnn = kind(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(10, 3)

    def forward(self, ids):
        y, _ = self.rnn(self.token(ids))
        return self.head(y.max(dim=1).values)


class Cells(nn.Module):
    """A loop over time with LSTMCell, as a decoder has it."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        h = x.new_zeros(x.size(0), 4)
        c, outputs = torch.zeros_like(h), []
        for step in range(x.size(1)):
            h, c = self.cell(x[:, step], (h, c))
            outputs.append(self.head(h))
        return torch.stack(outputs, 1)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.tokens = nn.Sequential(nn.Linear(6, 12), nn.GELU(approximate="tanh"), nn.Linear(12, 6))
        self.channels = nn.Sequential(nn.Linear(8, 16), nn.Mish(), nn.Linear(16, 8))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).mT).mT
        return (x + self.channels(self.norm2(x))).amax(1)


class Graph(nn.Module):
    """Message passing over an edge list."""

    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(8, 8), nn.Linear(12, 4)

    def forward(self, nodes, edges):
        source, target = edges[0], edges[1]
        messages = F.elu(self.message(torch.cat([nodes[source], nodes[target]], -1)))
        total = torch.zeros(nodes.shape[0], 8).index_add(0, target, messages)
        degree = torch.zeros(nodes.shape[0]).scatter_add(0, target, torch.ones(target.shape[0])).clamp(min=1)
        return self.update(torch.cat([nodes, total / degree.unsqueeze(-1)], -1))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.up, self.slopes = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1), nn.PReLU(8)

    def forward(self, x):
        x = x - x.new_tensor([0.4, 0.5, 0.6]).view(1, 3, 1, 1)
        return F.pixel_shuffle(self.up(self.slopes(self.body(F.pad(x, (1, 1, 1, 1), mode="reflect")))), 2).clamp_(0, 1)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.LeakyReLU(0.1), nn.InstanceNorm2d(4, affine=True), nn.Conv2d(4, 8, 3, 2, 1))
        self.decode = nn.Sequential(nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1), nn.SELU(), nn.ConvTranspose2d(4, 1, 2, 2), nn.Sigmoid())

    def forward(self, x):
        code = self.encode(x)
        return self.decode(code / code.norm(dim=1, keepdim=True).clamp_min(1e-6)), code


class InPlace(nn.Module):
    """Writes through views, and views that have to see them."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("average", torch.zeros(6))

    def forward(self, x):
        y = self.linear(x)
        view = y.view(2, 2, 3)
        view[:, 0].mul_(2.0)
        y[:, 1] = 0
        y[0, 2:4] += x[0, 2:4]
        y.t()[3].add_(1)
        y[:, ::2].neg_()
        grid = torch.zeros(2, 6)
        grid[:, 1:5].copy_(y[:, 1:5])
        grid[grid > 1] = 1.0
        grid.diagonal().fill_(3.0)
        with torch.no_grad():
            self.count += 1
            self.average.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
        return view.sum((0, 1)), grid, F.relu_(y) + grid


class Contrastive(nn.Module):
    """Two encoders, normalized, with a learned temperature."""

    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(8, 4), nn.Linear(6, 4)
        self.temperature = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, text):
        a, b = F.normalize(self.image(image), dim=-1), F.normalize(self.text(text), dim=-1)
        return self.temperature.exp().clamp(max=100) * a @ b.t()


class MaskedDecoder(nn.Module):
    """nn.MultiheadAttention with masks, log-softmax at the end."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), diagonal=1)
        y, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return self.norm(x + y).log_softmax(-1)


def _ids(high, *shape):
    return lambda: (torch.randint(0, high, shape),)


def _rows(*shapes):
    return lambda: tuple(torch.randn(shape) for shape in shapes)


def _trained(name):
    def inputs():
        import numpy as np
        return tuple(torch.from_numpy(v) for v in TRAINED[name][1](np.random.default_rng(1))[0].values())
    return inputs


MODELS = {
    **{name: (TRAINED[name][0], _trained(name)) for name in TRAINED},
    "mobilenet": (mobilenet, _rows((2, 3, 16, 16))),
    "convnext": (ConvNeXt, _rows((2, 3, 16, 16))),
    "vit": (VisionTransformer, _rows((2, 3, 16, 16))),
    "llama": (Llama, _ids(31, 2, 8)),
    "bert": (Bert, lambda: (torch.randint(0, 40, (2, 10)), torch.ones(2, 10, dtype=torch.long).index_fill(1, torch.tensor([8, 9]), 0))),
    "t5": (T5Attention, _rows((2, 7, 8))),
    "swin": (SwinBlock, _rows((2, 8, 8, 8))),
    "diffusion": (DiffusionUNet, lambda: (torch.randn(2, 2, 8, 8), torch.tensor([3, 40]))),
    "segmentation": (SegmentationHead, _rows((2, 3, 8, 8))),
    "seq2seq": (Seq2Seq, lambda: (torch.randint(0, 20, (2, 5)), torch.randint(0, 20, (2, 6)))),
    "wavenet": (WaveNet, _rows((2, 1, 12))),
    "lstm_bidirectional": (lambda: Recurrent(nn.LSTM), _ids(15, 2, 7)),
    "gru_bidirectional": (lambda: Recurrent(nn.GRU), _ids(15, 2, 7)),
    "cells": (Cells, _rows((2, 4, 3))),
    "mixer": (Mixer, _rows((2, 6, 8))),
    "graph": (Graph, lambda: (torch.randn(5, 4), torch.randint(0, 5, (2, 9)))),
    "super_resolution": (SuperResolution, _rows((1, 3, 6, 6))),
    "autoencoder": (AutoEncoder, _rows((2, 1, 8, 8))),
    "in_place": (InPlace, _rows((2, 6))),
    "contrastive": (Contrastive, _rows((3, 8), (3, 6))),
    "masked_decoder": (MaskedDecoder, _rows((2, 5, 8))),
}


def build(name):
    """The module in training mode and example inputs, with seed 0."""
    module, inputs = MODELS[name]
    torch.manual_seed(0)
    return module(), inputs()
