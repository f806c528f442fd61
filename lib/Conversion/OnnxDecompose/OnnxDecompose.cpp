//===- OnnxDecompose.cpp - Composite onnx operations to primitives --------===//
//
// Applies the rules, also to what rules have written.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Conversion/OnnxDecompose/Passes.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx;

namespace amp::onnx {
#define GEN_PASS_DEF_DECOMPOSEONNXPASS
#include "amp/Conversion/OnnxDecompose/Passes.h.inc"
} // namespace amp::onnx

namespace {

class DecomposeOnnxPass
    : public amp::onnx::impl::DecomposeOnnxPassBase<DecomposeOnnxPass> {
public:
  using DecomposeOnnxPassBase::DecomposeOnnxPassBase;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult decompose(Operation *op,
                          SmallVectorImpl<Operation *> &worklist);

  RuleTable table;
};

RuleTable buildTable() {
  RuleTable table;
  addActivationRules(table);
  addAttentionRules(table);
  addContractionRules(table);
  addEinsumRules(table);
  addLossRules(table);
  addMovementRules(table);
  addNormalizationRules(table);
  addRandomRules(table);
  addRecurrentRules(table);
  addReductionRules(table);
  addResizeRules(table);
  addSoftmaxRules(table);
  return table;
}

bool isStaticTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

/// Pushes what stands between `before` and `op`, first on top.
void pushBetween(Operation *before, Operation *op,
                 SmallVectorImpl<Operation *> &worklist) {
  for (Operation *it = op->getPrevNode(); it != before; it = it->getPrevNode())
    worklist.push_back(it);
}

} // namespace

LogicalResult DecomposeOnnxPass::initialize(MLIRContext *context) {
  table = buildTable();
  for (const std::string &name : keep)
    if (!lookupSpec(name))
      return emitError(UnknownLoc::get(context))
             << "decompose-onnx: keep names '" << name
             << "', which is no operator of ONNX";
  return success();
}

LogicalResult
DecomposeOnnxPass::decompose(Operation *op,
                             SmallVectorImpl<Operation *> &worklist) {
  const DecompositionRule *rule = table.lookup(op);
  if (!rule || llvm::is_contained(keep, getOpType(op)))
    return success();
  OpBuilder builder(op);
  Decomposition decomposition(builder, op);
  if (!llvm::all_of(op->getOperandTypes(), isStaticTensor) ||
      !llvm::all_of(op->getResultTypes(), isStaticTensor))
    return decomposition.emitError()
           << "needs operands and results of static shape: bind the model's "
              "symbolic dimensions (onnx-bind-dims)";
  if (op->use_empty()) {
    op->erase();
    return success();
  }
  Operation *before = op->getPrevNode();
  if (failed((*rule)(op, decomposition)))
    return failure();
  if (!decomposition.isSet())
    return success();
  if (failed(decomposition.replace()))
    return failure();
  pushBetween(before, op, worklist);
  op->erase();
  ++numDecomposed;
  return success();
}

void DecomposeOnnxPass::runOnOperation() {
  SmallVector<Operation *> worklist;
  getOperation().walk<WalkOrder::PostOrder, ReverseIterator>(
      [&](Operation *op) { worklist.push_back(op); });
  bool ok = true;
  while (!worklist.empty())
    ok &= succeeded(decompose(worklist.pop_back_val(), worklist));
  if (!ok)
    signalPassFailure();
}
