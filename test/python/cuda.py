"""Small models to train on the emulated GPU (or a real one), and the programs that do it."""
import json
import os
import subprocess

import numpy as np

from harness import ROOT
from small import model

BIN = ROOT / "build/bin"
#: The emulator, or on a machine with a GPU what utils/test-gpu names.
DRIVER = os.environ.get("AMP_TEST_DRIVER", "emulator")
EMULATOR = ROOT / "build/lib/libamp_cuda_emulator.so"


def run(*command, ok=True, **environment):
    """Returns what the program prints; fails unless it ends as expected."""
    variables = {**os.environ, **{k: str(v) for k, v in environment.items()}}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=variables, timeout=300)
    text = done.stdout + done.stderr
    assert (done.returncode == 0) == ok, f"{' '.join(map(str, command))}: exit code {done.returncode}\n{text[-4000:]}"
    return text


def _weights(seed, **shapes):
    rng = np.random.default_rng(seed)
    return {name: (rng.standard_normal(shape) / np.sqrt(shape[0] if len(shape) < 4 else np.prod(shape[1:]))).astype(np.float32)
            for name, shape in shapes.items()}


def mlp():
    text = """g (float[16,20] x, int64[16] labels) => (float loss) {
      h0 = MatMul(x, w1)
      h1 = Add(h0, b1)
      h2 = Relu(h1)
      h3 = MatMul(h2, w2)
      logits = Add(h3, b2)
      loss = SoftmaxCrossEntropyLoss<reduction="mean">(logits, labels)
    }"""
    rng = np.random.default_rng(1)
    data = {"x": rng.standard_normal((64, 20), dtype=np.float32), "labels": rng.integers(0, 5, 64)}
    return model(text, _weights(0, w1=(20, 32), b1=(32,), w2=(32, 5), b2=(5,))), data


def cnn():
    """Convolutions with padding and stride, batch normalisation, pooling."""
    text = """g (float[4,3,10,10] x, int64[4] labels) => (float loss) {
      c1 = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w1, b1)
      n1 = BatchNormalization(c1, scale, shift, mean, variance)
      r1 = Relu(n1)
      p1 = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r1)
      c2 = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(p1, w2, b2)
      r2 = Relu(c2)
      m = GlobalAveragePool(r2)
      f = Flatten(m)
      logits = Gemm(f, w3, b3)
      loss = SoftmaxCrossEntropyLoss<reduction="mean">(logits, labels)
    }"""
    rng = np.random.default_rng(2)
    data = {"x": rng.standard_normal((16, 3, 10, 10), dtype=np.float32), "labels": rng.integers(0, 4, 16)}
    weights = _weights(3, w1=(8, 3, 3, 3), b1=(8,), w2=(12, 8, 3, 3), b2=(12,), w3=(12, 4), b3=(4,))
    weights.update(scale=np.ones(8, np.float32), shift=np.zeros(8, np.float32), mean=np.zeros(8, np.float32), variance=np.ones(8, np.float32))
    return model(text, weights), data


def transformer():
    """Embedding, one block of attention with a causal mask and an MLP with GELU, logits for every token."""
    text = """g (int64[4,8] ids, int64[4,8] labels) => (float loss) {
      e = Gather(table, ids)
      n1 = LayerNormalization(e, g1, s1)
      qkv = MatMul(n1, wqkv)
      q0, k0, v0 = Split<axis=2>(qkv, thirds)
      q1 = Reshape(q0, heads)
      k1 = Reshape(k0, heads)
      v1 = Reshape(v0, heads)
      q = Transpose<perm=[0,2,1,3]>(q1)
      k = Transpose<perm=[0,2,3,1]>(k1)
      v = Transpose<perm=[0,2,1,3]>(v1)
      a0 = MatMul(q, k)
      a1 = Mul(a0, factor)
      a2 = Add(a1, mask)
      a = Softmax<axis=-1>(a2)
      o0 = MatMul(a, v)
      o1 = Transpose<perm=[0,2,1,3]>(o0)
      o2 = Reshape(o1, flat)
      o3 = MatMul(o2, wo)
      r1 = Add(e, o3)
      n2 = LayerNormalization(r1, g2, s2)
      m0 = MatMul(n2, wa)
      m1 = Add(m0, ba)
      m2 = Gelu(m1)
      m3 = MatMul(m2, wb)
      r2 = Add(r1, m3)
      l0 = MatMul(r2, wl)
      logits = Reshape(l0, rows)
      targets = Reshape(labels, all)
      loss = SoftmaxCrossEntropyLoss<reduction="mean">(logits, targets)
    }"""
    rng = np.random.default_rng(4)
    weights = _weights(5, table=(24, 16), wqkv=(16, 48), wo=(16, 16), wa=(16, 32), ba=(32,), wb=(32, 16), wl=(16, 24))
    weights.update({name: np.full(16, value, np.float32) for name, value in dict(g1=1, s1=0, g2=1, s2=0).items()})
    weights.update(thirds=np.array([16, 16, 16]), heads=np.array([4, 8, 2, 8]), flat=np.array([4, 8, 16]), rows=np.array([32, 24]),
                   all=np.array([32]), factor=np.float32(8**-0.5), mask=np.triu(np.full((8, 8), -1e4, np.float32), 1))
    data = {"ids": rng.integers(0, 24, (16, 8)), "labels": rng.integers(0, 24, (16, 8))}
    return model(text, weights, opset=20), data


MODELS = {"mlp": mlp, "cnn": cnn, "transformer": transformer}


class Workshop:
    """A folder with a model and its data, and what is made of it."""

    def __init__(self, folder, name, config):
        proto, data = MODELS[name]()
        self.folder = folder
        (folder / "model.onnx").write_bytes(proto.SerializeToString())
        (folder / "train.json").write_text(json.dumps({"loss": "loss", **config}))
        np.savez(folder / "data.npz", **data)

    def compile(self, name, *options):
        run(BIN / "amp-compile", self.folder / "model.onnx", "--training", self.folder / "train.json", "-o", self.folder / name, *options)
        return self.folder / name

    def train(self, step, steps, *options, **environment):
        """Returns the log, a record a step, and the state at the end, by name."""
        log, state = self.folder / "log.jsonl", self.folder / "state.npz"
        log.unlink(missing_ok=True)
        run(BIN / "amp-run", "train", step, "--data", self.folder / "data.npz", "--no-shuffle", "--steps", steps, "--log", log, "--save", state,
            *options, **environment)
        with np.load(state) as arrays:
            return [json.loads(line) for line in log.read_text().splitlines()], {k: arrays[k] for k in arrays.files}

    def emulate(self, step, steps, *options, **environment):
        return self.train(step, steps, f"--cuda-driver={DRIVER}", *options, **environment)
