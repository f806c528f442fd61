//===- Steps.cpp - The table of opset steps
//--------------------------------===//
// Turns data/opset-steps.def into an array with an index by op.
//===----------------------------------------------------------------------===//

#include "Steps.h"
#include "Rules.h"

#include "llvm/ADT/STLExtras.h"

using namespace amp::onnx_opset;

namespace {
constexpr Rule same = nullptr;

constexpr Step table[] = {
#define STEP(op, from, to, raise, lower, what)                                 \
  {#op, #op, from, to, raise, lower, what},
#define REPLACED(op, newer, from, to, raise, lower, what)                      \
  {#op, #newer, from, to, raise, lower, what},
#include "opset-steps.def"
};

/// Rows by the op they start from, in table order (by version), and by the op
/// they lead to.
struct Index {
  llvm::StringMap<llvm::SmallVector<const Step *, 4>> from, to;

  Index() {
    for (const Step &step : table) {
      from[step.op].push_back(&step);
      to[step.newer].push_back(&step);
    }
    for (auto &entry : from)
      llvm::sort(entry.second,
                 [](const Step *a, const Step *b) { return a->to < b->to; });
  }
};
} // namespace

static const Index &getIndex() {
  static const Index index;
  return index;
}

llvm::ArrayRef<Step> amp::onnx_opset::getSteps() { return table; }

llvm::ArrayRef<const Step *> amp::onnx_opset::getStepsFrom(llvm::StringRef op) {
  const auto &rows = getIndex().from;
  auto found = rows.find(op);
  if (found == rows.end())
    return {};
  return found->second;
}

const Step *amp::onnx_opset::getStepTo(llvm::StringRef op, int to) {
  const auto &rows = getIndex().to;
  auto found = rows.find(op);
  if (found == rows.end())
    return nullptr;
  auto row = llvm::find_if(found->second,
                           [&](const Step *step) { return step->to == to; });
  return row == found->second.end() ? nullptr : *row;
}

llvm::Error amp::onnx_opset::refuse(Rewriter &rewriter) {
  return rewriter.refuse();
}
