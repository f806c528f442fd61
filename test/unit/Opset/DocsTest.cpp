//===- DocsTest.cpp - The table in docs/opsets.md is that of the code
//------===//
// Prints the steps as the page shows them and compares.
//===----------------------------------------------------------------------===//

#include "../../../lib/Onnx/Opset/Rules.h"
#include "../../../lib/Onnx/Opset/Steps.h"

#include "llvm/ADT/StringExtras.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace amp::onnx_opset;

static std::string describe(Rule rule, const char *none) {
  if (!rule)
    return none;
  return rule == &refuse ? "refused" : "rewritten";
}

/// One row per step; ops whose steps are the same share it.
static std::string printTable() {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Step &step : getSteps()) {
    std::string rest =
        " | " + std::to_string(step.from) + " → " + std::to_string(step.to) +
        " | " + describe(step.raise, "as is") + " | " +
        describe(step.lower, "checked") + " | " + step.what.str() + " |\n";
    std::string op = step.op.str();
    auto same = std::find_if(rows.begin(), rows.end(), [&](const auto &row) {
      return row.second == rest;
    });
    if (same == rows.end())
      rows.emplace_back(op, rest);
    else
      same->first += ", " + op;
  }
  std::string table = "| Operators | Versions | Up | Down | What came or "
                      "changed |\n|---|---|---|---|---|\n";
  for (const auto &[ops, rest] : rows)
    table += "| " + ops + rest;
  return table;
}

TEST(Docs, TableIsUpToDate) {
  std::string path = AMP_SOURCE_DIR "/docs/opsets.md";
  std::ifstream file(path);
  std::stringstream buffer;
  buffer << file.rdbuf();
  std::string page = buffer.str(), table = printTable();
  if (page.find(table) != std::string::npos)
    return;
  std::string expected = AMP_BINARY_DIR "/opset-steps.md";
  std::ofstream(expected) << table;
  ADD_FAILURE() << "the table in " << path
                << " is out of date; the right one is in " << expected;
}
