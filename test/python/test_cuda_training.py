"""Training on the emulated GPU is training on the CPU: the same skips and scales, the same states."""
import numpy as np
import pytest

from cuda import EMULATOR, MODELS, Workshop

pytestmark = pytest.mark.skipif(not EMULATOR.exists(), reason="the emulator is not built (utils/build)")

#: Gradients overflow at first, and again when the scale has grown.
CONFIG = {"autocast": {"dtype": "f16", "policy": "balanced"}, "optimizer": {"adamw": {"lr": 0.01}}, "clip": {"norm": 1.0},
          "loss_scale": {"init_scale": 2.0**24, "growth_interval": 2}}
STEPS = 10
#: Specialised kernels sum in other orders, in half precision: of the largest element of a tensor.
TOLERANCE = 2e-2


def same_decisions(have, want):
    """The sequence of skips and scales, exactly."""
    assert [(r["skipped"], r["scale"], r["applied"]) for r in have] == [(r["skipped"], r["scale"], r["applied"]) for r in want]


def same_bits(have, want):
    assert have.keys() == want.keys()
    assert [k for k in want if "json" not in k and have[k].tobytes() != want[k].tobytes()] == []


@pytest.fixture(scope="module", params=list(MODELS))
def trained(request, tmp_path_factory):
    """A model trained on the CPU, whose code any processor runs alike."""
    shop = Workshop(tmp_path_factory.mktemp(request.param), request.param, CONFIG)
    records, state = shop.train(shop.compile("cpu", "--cpu=x86-64-v3"), STEPS)
    assert {r["skipped"] for r in records} == {True, False}
    shop.cuda = shop.compile("cuda", "--target=cuda")
    return shop, records, state


def test_generic_kernels_give_the_bits_of_the_cpu(trained):
    shop, records, state = trained
    have, final = shop.emulate(shop.compile("generic", "--target=cuda", "--generic-kernels"), STEPS)
    same_decisions(have, records)
    assert [r["loss"] for r in have] == [r["loss"] for r in records]
    states = [k for k in state if not k.startswith("__")]
    same_bits({k: final[k] for k in states}, {k: state[k] for k in states})


def test_kernels_train_as_the_cpu_does(trained):
    shop, records, state = trained
    have, final = shop.emulate(shop.cuda, STEPS)
    same_decisions(have, records)
    np.testing.assert_allclose([r["loss"] for r in have], [r["loss"] for r in records], rtol=TOLERANCE)
    for name, want in state.items():
        if name.startswith("model."):
            error = np.abs(final[name] - want).max() / np.abs(want).max()
            assert error <= TOLERANCE, (name, error)


def test_order_of_nodes_changes_no_bit(trained):
    """Every order that the graph's edges allow gives the same result, and so does one kernel after the other."""
    shop, _, _ = trained
    runs = [{"AMP_EMULATOR_SEED": 1}, {"AMP_EMULATOR_SEED": 2}, {"AMP_EMULATOR_SEED": 3}, {"AMP_CUDA_LAUNCH": "kernels"}]
    _, first = shop.emulate(shop.cuda, 3, **runs[0])
    for environment in runs[1:]:
        _, other = shop.emulate(shop.cuda, 3, **environment)
        same_bits(other, first)


def test_resumes_exactly(trained):
    shop, _, _ = trained
    records, whole = shop.emulate(shop.cuda, STEPS)
    shop.emulate(shop.cuda, 4)
    (shop.folder / "state.npz").rename(shop.folder / "middle.npz")
    rest, final = shop.emulate(shop.cuda, STEPS, "--resume", shop.folder / "middle.npz")
    assert [r["loss"] for r in rest] == [r["loss"] for r in records[4:]]
    same_bits(final, whole)


def test_schedule_follows_applied_steps(tmp_path):
    """The rate depends on which steps were skipped, which the device decides."""
    shop = Workshop(tmp_path, "mlp", {**CONFIG, "schedule": {"kind": "cosine", "total_steps": 8, "warmup_steps": 2}})
    want, _ = shop.train(shop.compile("cpu", "--cpu=x86-64-v3"), STEPS)
    have, _ = shop.emulate(shop.compile("cuda", "--target=cuda", "--generic-kernels"), STEPS)
    same_decisions(have, want)
    assert [r["lr"] for r in have] == [r["lr"] for r in want]
