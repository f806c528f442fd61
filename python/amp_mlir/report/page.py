"""The HTML page: the template that amp-opt has built in, with the data of one report put in."""
import json
from pathlib import Path

PLACE = "@REPORT_DATA@"


def template():
    """The text of the page without data: beside this file in a wheel, in `data/` of a source tree.

    Raises FileNotFoundError when it is in neither place.
    """
    here = Path(__file__).resolve().parent
    for path in (here / "report.html", here.parents[2] / "data/report.html"):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"the report's page is missing: expected report.html in {here}; reinstall amp_mlir")


def _finite(value):
    """The value with null where JSON has no number: NaN and infinities."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def to_json(data):
    """JSON text that any reader takes: a number that is not finite is null."""
    return json.dumps(_finite(data), ensure_ascii=False, allow_nan=False)


def make_page(data):
    """The page that shows `data`, as text. No text in `data` can end the script element it is put into."""
    # Lone surrogates cannot be written as UTF-8.
    text = to_json(data).encode("utf-8", "replace").decode("utf-8").replace("<", "\\u003c")
    before, after = template().split(PLACE)
    return before + text + after
