"""Every field of train.json, wrong: the error names the file and the field's path and says what was expected."""
import json

import pytest

from training_step import build, mlp

GOOD = {"loss": {"softmax_cross_entropy": {"logits": "logits", "labels": "labels"}}, "optimizer": {"sgd": {"lr": 0.1}}}


def changed(path, value):
    """GOOD with the field at `path` set; objects on the way are made."""
    config = json.loads(json.dumps(GOOD))
    *way, last = path.split(".")
    if way and way[0] in ("optimizer", "loss") and [*way, last][1] not in config[way[0]]:
        config[way[0]] = {}
    target = config
    for key in way:
        target = target.setdefault(key, {})
    target[last] = value
    return config


# path, value, what the message says after the path
WRONG = [
    ("optimiser", {}, "unknown key; did you mean 'optimizer'?"),
    ("zzz", 1, "unknown key; known keys are loss, optimizer, "),
    ("loss", 3, "expected an object, but got 3"),
    ("loss", "", "expected the name of an output, but got \"\""),
    ("loss", {}, "expected exactly one of softmax_cross_entropy, "),
    ("loss.cross_entropy", {}, "unknown key"),
    ("loss.sum", [], "expected an array of losses, but got []"),
    ("loss.softmax_cross_entropy", [], "expected an object, but got []"),
    ("loss.softmax_cross_entropy.logits", 1, "expected a string, but got 1"),
    ("loss.softmax_cross_entropy.label", "y", "unknown key; did you mean 'labels'?"),
    ("loss.softmax_cross_entropy.reduction", "none", "expected one of mean, sum, but got \"none\""),
    ("loss.softmax_cross_entropy.label_smoothing", 2, "expected a number of at least 0 and at most 1, but got 2"),
    ("loss.softmax_cross_entropy.ignore_index", 0.5, "expected an integer from "),
    ("loss.mse", {"logits": "logits"}, None),
    ("loss.huber", {"logits": "logits", "labels": "y", "delta": 0}, None),
    ("trainable", "fc1.*", "expected an array of strings, but got \"fc1.*\""),
    ("frozen", [1], None),
    ("frozen", ["("], None),
    ("autocast.dtype", "f8", "expected one of f16, bf16, but got \"f8\""),
    ("autocast.enabled", "yes", "expected true or false, but got \"yes\""),
    ("autocast.polcy", "balanced", "unknown key; did you mean 'policy'?"),
    ("autocast.deny", [""], None),
    ("autocast.lossy_constants", "drop", "expected one of wide, clamp, convert, but got \"drop\""),
    ("loss_scale.enabled", "on", "expected true, false or \"auto\", but got \"on\""),
    ("loss_scale.init_scale", 0, "expected a number above 0 and at most "),
    ("loss_scale.growth_factor", 1, "expected a number above 1 and at most "),
    ("loss_scale.backoff_factor", 1.0, "expected a number above 0 and below 1, but got 1"),
    ("loss_scale.growth_interval", 0, "expected an integer from 1 to 2147483647, but got 0"),
    ("loss_scale.hysteresis", -1, "expected an integer from 1 to 2147483647, but got -1"),
    ("loss_scale.min_scale", 1e6, "is above 'init_scale'"),
    ("loss_scale.max_scale", 2, "is below 'init_scale'"),
    ("optimizer", "sgd", "expected an object, but got \"sgd\""),
    ("optimizer", {}, "expected exactly one of sgd, adam, adamw, lion, lamb"),
    ("optimizer", {"sgd": {"lr": 1}, "adam": {}}, "expected exactly one of "),
    ("optimizer.adamm", {}, "unknown key; did you mean 'adam'?"),
    ("optimizer.sgd", {}, None),
    ("optimizer.sgd.lr", -1, "expected a number of at least 0, but got -1"),
    ("optimizer.sgd.lr", "0.1", "expected a number of at least 0, but got \"0.1\""),
    ("optimizer.sgd.momentun", 0.9, "unknown key; did you mean 'momentum'?"),
    ("optimizer.sgd.nesterov", True, "needs a momentum and no dampening"),
    ("optimizer.sgd.betas", [0.9, 0.9], "unknown key"),
    ("optimizer.adam.betas", [0.5], "expected two numbers, but got [0.5]"),
    ("optimizer.adam.betas", [0.9, 1], None),
    ("optimizer.adam.eps", -1e-8, "expected a number of at least 0, but got "),
    ("optimizer.adam.groups", {}, "expected an array, but got {}"),
    ("optimizer.adam.groups", [{"lr": 1}], None),
    ("optimizer.adam.groups", [{"match": "["}], None),
    ("optimizer.adam.groups", [{"match": ".*", "name": "a"}, {"match": "b", "name": "a"}], None),
    ("clip.norm", 0, "expected a number above 0, but got 0"),
    ("clip.value", [], "expected a number above 0, but got []"),
    ("clip.max", 1, "unknown key"),
    ("accumulate", 0, "expected an integer from 1 to 1048576, but got 0"),
    ("accumulate", 1.5, "expected an integer from 1 to 1048576, but got 1.5"),
    ("schedule", {}, None),
    ("schedule.kind", "cosin", "expected one of constant, linear, cosine, step, but got \"cosin\""),
    ("schedule", {"kind": "cosine"}, None),
    ("schedule", {"kind": "cosine", "total_steps": 5, "warmup_steps": 5}, None),
    ("schedule", {"kind": "linear", "total_steps": 5, "gamma": 0.5}, None),
    ("nonfinite_loss", "ignore", "expected one of continue, skip, error, but got \"ignore\""),
    ("nonfinite_gradients", True, "expected one of apply, skip, but got true"),
    ("guard_buffers", 1, "expected true or false, but got 1"),
    ("gradient_flags", "on", "expected true or false, but got \"on\""),
    ("outputs", "all", "expected \"keep\", \"drop\" or an array of names, but got \"all\""),
]
#: Where the path of the message is not the path that was changed.
ELSEWHERE = {
    ("loss.mse", 0): "'loss.mse.labels': is missing",
    ("loss.huber", 0): "'loss.huber.delta': expected a number above 0, but got 0",
    ("frozen", 0): "'frozen[0]': expected a string, but got 1",
    ("frozen", 1): "'frozen[0]': '(' is no regular expression",
    ("autocast.deny", 0): "'autocast.deny[0]': expected a string, but got \"\"",
    ("optimizer.sgd", 0): "'optimizer.sgd.lr': is missing",
    ("optimizer.adam.betas", 0): "'optimizer.adam.betas[1]': expected a number of at least 0 and below 1, but got 1",
    ("optimizer.adam.groups", 0): "'optimizer.adam.groups[0].match': is missing",
    ("optimizer.adam.groups", 1): "'optimizer.adam.groups[0].match': '[' is no regular expression",
    ("optimizer.adam.groups", 2): "'optimizer.adam.groups[1].name': there is another group 'a'",
    ("schedule", 0): "'schedule.kind': is missing",
    ("schedule", 1): "'schedule.total_steps': is missing",
    ("schedule", 2): "'schedule.total_steps': must be more than 'warmup_steps'",
    ("schedule", 3): "'schedule.gamma': a schedule of kind 'linear' has none",
}


def cases():
    seen = {}
    for path, value, message in WRONG:
        if message is None:
            index = seen[path] = seen.get(path, -1) + 1
            message = ELSEWHERE[path, index]
        else:
            message = f"'{path}': {message}"
        yield pytest.param(changed(path, value), message, id=message[:60])


@pytest.mark.parametrize("config, message", list(cases()))
def test_wrong_field_is_named(config, message):
    run, _ = build(mlp(), config)
    assert run.code == 1 and not run.signal
    assert f"train.json: {message}" in run.stderr, run.stderr


@pytest.mark.parametrize("missing", ["loss", "optimizer"])
def test_missing_section_is_named(missing):
    run, _ = build(mlp(), {k: v for k, v in GOOD.items() if k != missing})
    assert run.code == 1 and f"train.json: '{missing}': is missing" in run.stderr


@pytest.mark.parametrize("text, message", [
    ("", "train.json: not valid JSON"), ("{", "train.json: not valid JSON"), ("[1]", "train.json: expected an object, but got [1]"),
    ("[" * 200, "train.json: not valid JSON: nested deeper"), ('{"loss": "\\ud800"}', "train.json: "),
    ('{"loss": 1e999}', "train.json: "), (json.dumps(GOOD)[:-1] + ', "clip": {"norm": 1e999}}', "train.json: "),
], ids=["empty", "truncated", "array", "deep", "surrogate", "infinite", "infinite-norm"])
def test_wrong_file_is_named(text, message):
    run, _ = build(mlp(), text)
    assert run.code == 1 and not run.signal and message in run.stderr, run.stderr


@pytest.mark.parametrize("extra, message", [
    ({"guard_buffers": True, "accumulate": 2}, "'guard_buffers': cannot be true with 'accumulate' above 1"),
    ({"nonfinite_gradients": "apply", "loss_scale": {"enabled": True}}, "'nonfinite_gradients': loss scaling skips steps"),
])
def test_fields_that_contradict_each_other(extra, message):
    run, _ = build(mlp(), {**GOOD, **extra})
    assert run.code == 1 and message in run.stderr
