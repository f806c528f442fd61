"""docs/policies.md is what utils/gen-policy-docs writes."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_page_is_up_to_date():
    result = subprocess.run([sys.executable, ROOT / "utils" / "gen-policy-docs", "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
