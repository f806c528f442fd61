"""The torch policies give every row of the golden file the type PyTorch gives it, and no row of the reference is lost."""
import json
from collections import Counter

import pytest

import torch_golden
from harness import amp_opt

BATCHES = torch_golden.batches()


@pytest.fixture(params=BATCHES, ids="-".join)
def batch(request):
    return request.param, BATCHES[request.param]


def types_after(rows, tmp_path, *arguments):
    """Result type of each row, in order, after a run of the program over all of them."""
    path = tmp_path / "rows.mlir"
    path.write_text(torch_golden.module(rows))
    run = amp_opt(path, *arguments)
    assert run.ok, run.describe()[:4000]
    types = torch_golden.result_types(run.stdout)
    return [types.get(f"row{index}") for index in range(len(rows))]


def test_rows_are_valid_graphs(batch, tmp_path):
    assert None not in types_after(batch[1], tmp_path)


def test_results_have_the_type_of_pytorch(batch, tmp_path):
    (device, low), rows = batch
    types = types_after(rows, tmp_path, f"--amp-assign-precision=dtype={low} policy=torch-{device}", "--amp-materialize-casts")
    wrong = [f"{row}, but got {got}" for row, got in zip(rows, types) if got != row.result]
    assert not wrong, f"{len(wrong)} of {len(rows)} rows differ:\n" + "\n".join(wrong)


def count_of(row):
    """What makes two rows of the reference the same row."""
    short = torch_golden.SHORT
    explicit = f" dtype={short[row['explicit_dtype']]}" if row.get("explicit_dtype") else ""
    result = "error" if row["result"].startswith("error") else short.get(row["result"], row["result"])
    low = short[row["autocast_dtype"]]
    if "expression" in row:
        return row["expression"], row["device"], low, result
    types = " ".join(short[operand["dtype"]] for operand in row["inputs"])
    return row["op"] + explicit, row["device"], low, f"{types} -> {result}"


def test_every_row_of_the_reference_is_accounted_for():
    if not torch_golden.REFERENCE.is_file():
        pytest.skip(f"{torch_golden.REFERENCE} is absent")
    reference = json.loads(torch_golden.REFERENCE.read_text())
    wanted = Counter(count_of(row) for key in ("cuda_policy", "cpu_policy", "cuda_unlisted_and_composite") for row in reference[key])
    found = Counter()
    for entry in torch_golden.load("torch-autocast") + torch_golden.load("no-counterpart"):
        for low, texts in entry["rows"].items():
            for text in texts:
                # An expression says its operand types itself.
                what = text.split("->")[-1].strip() if "expression" in entry else text
                found[torch_golden.source_of(entry), entry["device"], low, what] += 1
    assert found == wanted


def test_rows_without_counterpart_have_a_reason():
    for entry in torch_golden.load("no-counterpart"):
        assert len(entry["reason"]) > 10, entry
