//===- LeaveOut.cpp - Does without ops that do not matter -----------------===//
//
// Delta debugging on the ops of a module.
//
//===----------------------------------------------------------------------===//

#include "Passes.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Reducer/Tester.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FileSystem.h"

namespace amp {
#define GEN_PASS_DEF_LEAVEOUTPASS
#include "tools/amp-reduce/Passes.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

static bool isConstant(Operation *op) {
  return isa<onnx::InitializerOp, onnx::ConstantOp>(op);
}

/// What may go, readers before what they read.
static SmallVector<Operation *> getCandidates(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module && !isConstant(op) &&
        !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  std::reverse(ops.begin(), ops.end());
  return ops;
}

/// A value of the type of `result` that does not need its op; null if there is
/// none.
static Value findSubstitute(OpResult result, OpBuilder &builder) {
  Operation *op = result.getOwner();
  for (Value operand : op->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return nullptr;
  auto zeros = cast<ElementsAttr>(
      DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
  return onnx::InitializerOp::create(builder, op->getLoc(), type, zeros,
                                     /*input_index=*/IntegerAttr());
}

/// Erases an op; false if something needs it.
static bool leaveOut(Operation *op) {
  OpBuilder builder(op);
  SmallVector<std::pair<OpResult, Value>> substitutes;
  for (OpResult result : op->getResults())
    if (!result.use_empty()) {
      Value substitute = findSubstitute(result, builder);
      if (!substitute)
        return false;
      substitutes.push_back({result, substitute});
    }
  for (auto [result, substitute] : substitutes)
    result.replaceAllUsesWith(substitute);
  op->erase();
  return true;
}

static void eraseUnusedConstants(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isConstant(op) && op->use_empty())
      op->erase();
  });
}

/// A copy of `module` without the candidates from `begin` to `end`; null if
/// they are all needed or it does not verify.
static OwningOpRef<ModuleOp> leaveOut(ModuleOp module, size_t begin,
                                      size_t end) {
  OwningOpRef<ModuleOp> copy = module.clone();
  llvm::DenseSet<Operation *> gone;
  bool changed = false;
  SmallVector<Operation *> candidates = getCandidates(*copy);
  for (Operation *op : ArrayRef(candidates).slice(begin, end - begin)) {
    if (gone.contains(op))
      continue;
    SmallVector<Operation *> nested;
    op->walk([&](Operation *inner) { nested.push_back(inner); });
    if (!leaveOut(op))
      continue;
    gone.insert(nested.begin(), nested.end());
    changed = true;
  }
  eraseUnusedConstants(*copy);
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  if (!changed || failed(verify(*copy)))
    return {};
  return copy;
}

namespace {

struct LeaveOut : amp::impl::LeaveOutPassBase<LeaveOut> {
  using LeaveOutPassBase::LeaveOutPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!llvm::sys::fs::can_execute(testerName.getValue())) {
      module.emitError("expects the option 'test' to name a program, but got '")
          << testerName << "'";
      return signalPassFailure();
    }
    if (!isInteresting(module)) {
      module.emitError("expects a file that the test '")
          << testerName << "' finds interesting: it must end with 1 for it";
      return signalPassFailure();
    }
    size_t size = getCandidates(module).size();
    while (size > 0) {
      bool changed = tryAll(module, size);
      size = size > 1 ? (size + 1) / 2 : changed;
    }
  }

private:
  bool isInteresting(ModuleOp module) {
    std::vector<std::string> arguments(testerArgs.begin(), testerArgs.end());
    return Tester(testerName.getValue(), arguments)
               .isInteresting(module)
               .first == Tester::Interestingness::True;
  }

  /// Tries to do without each run of `size` candidates; true if one could go.
  bool tryAll(ModuleOp module, size_t size) {
    bool changed = false;
    size_t begin = 0;
    for (size_t count = getCandidates(module).size(); begin < count;) {
      OwningOpRef<ModuleOp> copy =
          leaveOut(module, begin, std::min(begin + size, count));
      if (copy && isInteresting(*copy)) {
        module.getBodyRegion().takeBody(copy->getBodyRegion());
        count = getCandidates(module).size();
        changed = true;
      } else {
        begin += size;
      }
    }
    return changed;
  }
};

} // namespace
