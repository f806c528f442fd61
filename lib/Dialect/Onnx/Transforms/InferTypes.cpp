//===- InferTypes.cpp - Infer the types of all values again ---------------===//
//
// Merges what type inference says into the types that values have.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/Inference/TypeInference.h"
#include "amp/Dialect/Onnx/Transforms/Passes.h"

using namespace mlir;
using namespace amp::onnx;

namespace amp::onnx {
#define GEN_PASS_DEF_INFERTYPESPASS
#include "amp/Dialect/Onnx/Transforms/Passes.h.inc"
} // namespace amp::onnx

namespace {

class InferTypesPass
    : public amp::onnx::impl::InferTypesPassBase<InferTypesPass> {
public:
  void runOnOperation() override;

private:
  LogicalResult inferBlock(Block &block, TypeInference &inference);
  LogicalResult inferOp(Operation *op, TypeInference &inference);
  LogicalResult inferArguments(Operation *op, unsigned region,
                               TypeInference &inference);
  void refine(Operation *op, Value value, Type inferred);
};

/// Fails with the library's text, the node named.
LogicalResult emitInferenceError(Operation *op, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  StringRef name = getNodeName(op);
  auto diagnostic = op->emitOpError();
  if (!name.empty())
    diagnostic << "of node '" << name << "' ";
  return diagnostic << "has operands or attributes that its operator does not "
                       "take: "
                    << text;
}

/// Whether every user of `value` goes along with another type.
bool mayChange(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user) || isa<OnnxDialect>(user->getDialect());
  });
}

} // namespace

/// Merges `inferred` into the type of `value`, which belongs to `op`.
void InferTypesPass::refine(Operation *op, Value value, Type inferred) {
  Type declared = value.getType();
  Type merged = mergeTypes(declared, inferred);
  if (merged == declared || !mayChange(value))
    return;
  if (!merged) {
    ++numConflicts;
    auto warning = op->emitWarning("value ");
    if (StringRef name = getValueName(value); !name.empty())
      warning << "'" << name << "' ";
    warning << "of " << getOpType(op);
    if (StringRef node = getNodeName(op); !node.empty())
      warning << " '" << node << "'";
    warning << " is declared as " << declared << ", but inferred to be "
            << inferred << ", which is what it now is";
    merged = inferred;
  }
  ++numRefined;
  value.setType(merged);
}

LogicalResult InferTypesPass::inferArguments(Operation *op, unsigned region,
                                             TypeInference &inference) {
  SmallVector<Type> types;
  if (llvm::Error error = inference.inferRegionArguments(op, region, types))
    return emitInferenceError(op, std::move(error));
  for (auto [argument, type] :
       llvm::zip(op->getRegion(region).getArguments(), types))
    refine(op, argument, type);
  return success();
}

LogicalResult InferTypesPass::inferOp(Operation *op, TypeInference &inference) {
  bool isSchemaOp = isa<SchemaOpInterface>(op);
  for (auto [index, region] : llvm::enumerate(op->getRegions())) {
    if (isSchemaOp && failed(inferArguments(op, index, inference)))
      return failure();
    for (Block &block : region)
      if (failed(inferBlock(block, inference)))
        return failure();
  }
  if (!isSchemaOp)
    return success();
  SmallVector<Type> types;
  if (llvm::Error error = inference.infer(op, types))
    return emitInferenceError(op, std::move(error));
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    refine(op, result, type);
  return success();
}

LogicalResult InferTypesPass::inferBlock(Block &block,
                                         TypeInference &inference) {
  // All errors of a block are worth telling.
  bool ok = true;
  for (Operation &op : block)
    ok &= succeeded(inferOp(&op, inference));
  return success(ok);
}

void InferTypesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  TypeInference inference;
  if (failed(inferBlock(function.front(), inference)))
    return signalPassFailure();
  auto results = function.front().getTerminator()->getOperandTypes();
  function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(),
                                     llvm::to_vector(results)));
}
