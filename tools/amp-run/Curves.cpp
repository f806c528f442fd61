//===- Curves.cpp - Loss and scale as a picture ---------------------------===//
// Two panels of an SVG file, or of a page that shows the step under the mouse;
// long runs are thinned to one point a pixel.
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include <algorithm>
#include <cmath>
#include <functional>

using namespace amp::run;
using namespace amp::runtime;

namespace {
struct Panel {
  const char *title;
  double top, height;
  bool logarithmic;
  std::function<double(const StepRow &)> get;
};

/// What a panel spans.
struct Range {
  double low, high;
};
} // namespace

static constexpr double left = 70, width = 700, right = 20, totalHeight = 460;

static std::string format(const char *pattern, double a, double b = 0,
                          double c = 0, double d = 0) {
  char text[256];
  std::snprintf(text, sizeof(text), pattern, a, b, c, d);
  return text;
}

static double project(double value, const Panel &panel) {
  return panel.logarithmic ? std::log2(value) : value;
}

static bool isShown(double value, const Panel &panel) {
  return std::isfinite(value) && (!panel.logarithmic || value > 0);
}

static Range findRange(const std::vector<StepRow> &rows, const Panel &panel) {
  Range range = {INFINITY, -INFINITY};
  for (const StepRow &row : rows)
    if (double value = panel.get(row); isShown(value, panel)) {
      range.low = std::min(range.low, project(value, panel));
      range.high = std::max(range.high, project(value, panel));
    }
  if (!(range.low <= range.high))
    range = {0, 1};
  if (range.low == range.high)
    range = {range.low - 1, range.high + 1};
  return range;
}

static double getX(const StepRow &row, const std::vector<StepRow> &rows) {
  double first = static_cast<double>(rows.front().step),
         last = static_cast<double>(rows.back().step);
  double span = std::max(1.0, last - first);
  return left + width * (static_cast<double>(row.step) - first) / span;
}

/// The curve; it is broken where a value is not finite.
static std::string drawCurve(const std::vector<StepRow> &rows,
                             const Panel &panel, const Range &range) {
  std::string path;
  bool pen = false;
  double lastX = -1;
  for (const StepRow &row : rows) {
    double value = panel.get(row), x = getX(row, rows);
    if (!isShown(value, panel)) {
      pen = false;
      continue;
    }
    if (pen && x - lastX < 0.5 && &row != &rows.back())
      continue;
    double share =
        (project(value, panel) - range.low) / (range.high - range.low);
    path += pen ? "L" : "M";
    path += format("%.1f %.1f ", x, panel.top + panel.height * (1 - share));
    pen = true;
    lastX = x;
  }
  return "<path d=\"" + path +
         "\" fill=\"none\" stroke=\"#1f6fb4\" stroke-width=\"1.5\"/>\n";
}

/// A tick for every skipped step.
static std::string drawSkips(const std::vector<StepRow> &rows,
                             const Panel &panel) {
  std::string text;
  double lastX = -1;
  for (const StepRow &row : rows) {
    double x = getX(row, rows);
    if (!row.skipped || x - lastX < 0.5)
      continue;
    lastX = x;
    text += format("<line x1=\"%.1f\" x2=\"%.1f\" ", x, x) +
            format("y1=\"%.1f\" y2=\"%.1f\" stroke=\"#c0392b\"/>\n",
                   panel.top + panel.height, panel.top + panel.height - 8);
  }
  return text;
}

static std::string drawText(double x, double y, const char *anchor,
                            const std::string &text) {
  return format("<text x=\"%.1f\" y=\"%.1f\" ", x, y) + "text-anchor=\"" +
         anchor + "\">" + text + "</text>\n";
}

static std::string drawPanel(const std::vector<StepRow> &rows,
                             const Panel &panel) {
  Range range = findRange(rows, panel);
  std::string text =
      format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ",
             left, panel.top, width, panel.height) +
      "fill=\"none\" stroke=\"#999\"/>\n";
  text += drawText(left, panel.top - 6, "start", panel.title);
  for (bool isHigh : {false, true}) {
    double value = isHigh ? range.high : range.low;
    text +=
        drawText(left - 6, panel.top + (isHigh ? 10 : panel.height), "end",
                 format("%.4g", panel.logarithmic ? std::exp2(value) : value));
  }
  return text + drawCurve(rows, panel, range);
}

static bool isPage(const std::string &path) { return endsWith(path, ".html"); }

static std::string drawPicture(const std::vector<StepRow> &rows) {
  Panel loss = {"loss", 40, 230, false,
                [](const StepRow &row) { return row.loss; }};
  Panel scale = {"loss scale (red: skipped steps)", 310, 110, true,
                 [](const StepRow &row) { return row.scale; }};
  std::string text =
      format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
             "height=\"%.0f\" font-family=\"sans-serif\" "
             "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
             "fill=\"white\"/>\n",
             left + width + right, totalHeight);
  if (!rows.empty()) {
    text +=
        drawPanel(rows, loss) + drawPanel(rows, scale) + drawSkips(rows, scale);
    text += drawText(left, totalHeight - 20, "start",
                     "step " + std::to_string(rows.front().step));
    text += drawText(left + width, totalHeight - 20, "end",
                     std::to_string(rows.back().step));
  }
  return text + "</svg>\n";
}

/// [step, loss, scale, skipped, gradient that was not finite] of the rows that
/// the page tells of: one a pixel, and every skipped one.
static std::string listRows(const std::vector<StepRow> &rows) {
  Json list = Json::array();
  double lastX = -1;
  for (const StepRow &row : rows) {
    double x = getX(row, rows);
    if (!row.skipped && x - lastX < 1)
      continue;
    lastX = x;
    list.push_back({row.step, row.loss, row.scale, row.skipped, row.culprit});
  }
  std::string text = print(list);
  // Names are the model's: one must not end the script.
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos;)
    text.replace(at, 1, "\\u003c");
  return text;
}

static constexpr const char *pageHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<title>Training</title>\n<style>body{font-family:sans-serif;"
    "font-size:13px} svg{cursor:crosshair} #at{min-height:1.5em}"
    "</style></head><body>\n";

static std::string makeScript(const std::vector<StepRow> &rows) {
  return "<p id=\"at\"></p>\n<script>\nconst rows = " + listRows(rows) + ";\n" +
         format("const left = %.0f, width = %.0f;\n", left, width) + R"(
const at = document.getElementById('at');
const show = row => at.textContent = `step ${row[0]}: loss ${row[1]}, scale ` +
    `${row[2]}` + (row[3] ? ', skipped' : '') +
    (row[4] ? `; first gradient that is not finite: ${row[4]}` : '');
if (rows.length) {
  const first = rows[0][0], last = rows[rows.length - 1][0];
  show(rows[rows.length - 1]);
  document.querySelector('svg').addEventListener('mousemove', event => {
    const step = first + (event.offsetX - left) / width * (last - first);
    show(rows.reduce((a, b) =>
        Math.abs(b[0] - step) < Math.abs(a[0] - step) ? b : a));
  });
}
</script>
)";
}

void amp::run::writeCurves(const std::string &path,
                           const std::vector<StepRow> &rows) {
  AtomicWriter out(path);
  if (isPage(path))
    out.write(pageHead + drawPicture(rows) + makeScript(rows) +
              "</body></html>\n");
  else
    out.write(drawPicture(rows));
  out.commit();
}
