//===- AssignPrecision.cpp - Decides the types of all ops -----------------===//
//
// The pass: reads its options, decides each function, writes the decisions.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"

namespace amp {
#define GEN_PASS_DEF_ASSIGNPRECISIONPASS
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;
using namespace amp::assign;

namespace {

struct AssignPrecision : amp::impl::AssignPrecisionPassBase<AssignPrecision> {
  using AssignPrecisionPassBase::AssignPrecisionPassBase;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module);
  FailureOr<TableOptions> getTableOptions(ModuleOp module);
  FailureOr<AssignOptions> getAssignOptions(ModuleOp module);
};

} // namespace

FailureOr<TableOptions> AssignPrecision::getTableOptions(ModuleOp module) {
  TableOptions options;
  auto kind = llvm::StringSwitch<std::optional<Kind>>(dtype)
                  .Case("", Kind::Other)
                  .Case("f16", Kind::F16)
                  .Case("bf16", Kind::BF16)
                  .Default(std::nullopt);
  if (!kind)
    return module.emitError()
           << "expects f16 or bf16 for the option 'dtype', but got '" << dtype
           << "'";
  options.dtype = *kind;
  options.policy = policy;
  options.allow.assign(allow.begin(), allow.end());
  options.deny.assign(deny.begin(), deny.end());
  return options;
}

FailureOr<AssignOptions> AssignPrecision::getAssignOptions(ModuleOp module) {
  AssignOptions options;
  auto constants =
      llvm::StringSwitch<std::optional<LossyConstants>>(lossyConstants)
          .Case("", LossyConstants::ByPolicy)
          .Case("wide", LossyConstants::Wide)
          .Cases({"clamp", "convert"}, LossyConstants::Keep)
          .Default(std::nullopt);
  if (!constants)
    return module.emitError()
           << "expects wide, clamp or convert for the option "
              "'lossy-constants', but got '"
           << lossyConstants << "'";
  options.lossyConstants = *constants;
  options.keepOutputs = keepIOTypes;
  return options;
}

LogicalResult AssignPrecision::run(ModuleOp module) {
  FailureOr<TableOptions> tableOptions = getTableOptions(module);
  FailureOr<AssignOptions> assignOptions = getAssignOptions(module);
  if (failed(tableOptions) || failed(assignOptions))
    return failure();
  Tables tables(*tableOptions);
  llvm::Expected<Scope *> scope = tables.getOutermost();
  if (!scope)
    return module.emitError(llvm::toString(scope.takeError()));
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Graph graph;
    if (failed(graph.build(function, tables, **scope)))
      return failure();
    Assigner assigner(graph, *assignOptions);
    assigner.classify();
    assigner.decide();
    assigner.emit();
  }
  return success();
}
