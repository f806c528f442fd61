//===- AssignPrecision.cpp - Decides the types of all ops -----------------===//
//
// The pass: reads its options, decides each function, writes the decisions.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "AssignPrecisionOverrides.h"
#include "Decisions.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
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
  AssignPrecision(const AssignPrecision &other)
      : AssignPrecisionPassBase(other) {}

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module);
  FailureOr<TableOptions> getTableOptions(ModuleOp module);
  FailureOr<AssignOptions> getAssignOptions(ModuleOp module);
  FailureOr<Pins> getPins(ModuleOp module);
  LogicalResult decide(ModuleOp module, Tables &tables, Pins &pins,
                       const AssignOptions &options);
  LogicalResult readDecisions(ModuleOp module, const AssignOptions &options);

  /// One per function, while the pass runs.
  std::vector<std::unique_ptr<Graph>> graphs;
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
    return emitError(module.getLoc())
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
    return emitError(module.getLoc())
           << "expects wide, clamp or convert for the option "
              "'lossy-constants', but got '"
           << lossyConstants << "'";
  options.lossyConstants = *constants;
  options.keepOutputs = keepIOTypes;
  return options;
}

FailureOr<Pins> AssignPrecision::getPins(ModuleOp module) {
  Pins pins;
  auto add = [&](ArrayRef<std::string> texts, bool ofSlot) -> LogicalResult {
    for (const std::string &text : texts)
      if (llvm::Error error = pins.add(text, ofSlot))
        return emitError(module.getLoc(), llvm::toString(std::move(error)));
    return success();
  };
  if (failed(add(pin, /*ofSlot=*/false)) || failed(add(pinSlot, true)))
    return failure();
  return pins;
}

/// Says once what no table, and no operation, knows.
static void remarkUnknown(ArrayRef<std::unique_ptr<Graph>> graphs) {
  llvm::MapVector<StringRef, std::pair<unsigned, Operation *>> counts;
  for (const std::unique_ptr<Graph> &graph : graphs)
    for (const Node &node : graph->nodes) {
      StringRef type = onnx::getOpType(node.op);
      if (node.rule != DecisionRule::Unknown || type.empty())
        continue;
      auto &[count, first] = counts[type];
      first = count++ ? first : node.op;
    }
  for (auto &[type, count] : counts)
    count.second->emitRemark()
        << count.first << (count.first == 1 ? " node" : " nodes")
        << " of the operator '" << type
        << "', which no policy knows, keep their types";
}

LogicalResult AssignPrecision::decide(ModuleOp module, Tables &tables,
                                      Pins &pins,
                                      const AssignOptions &options) {
  llvm::Expected<Scope *> scope = tables.getOutermost();
  if (!scope)
    return emitError(module.getLoc(), llvm::toString(scope.takeError()));
  uint32_t firstOp = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Graph &graph = *graphs.emplace_back(std::make_unique<Graph>());
    if (failed(graph.build(function, tables, **scope, firstOp)))
      return failure();
    firstOp = graph.getNextOp();
    Assigner assigner(graph, options);
    assigner.classify();
    if (failed(pins.apply(function, graph)))
      return failure();
    assigner.decide();
  }
  return pins.checkUsed(module);
}

LogicalResult AssignPrecision::readDecisions(ModuleOp module,
                                             const AssignOptions &options) {
  if (decisions.empty())
    return success();
  DecisionFile file;
  if (llvm::Error error = file.read(decisions))
    return emitError(module.getLoc(), llvm::toString(std::move(error)));
  if (failed(file.apply(graphs, module)))
    return failure();
  for (const std::unique_ptr<Graph> &graph : graphs)
    Assigner(*graph, options).decide();
  return success();
}

LogicalResult AssignPrecision::run(ModuleOp module) {
  FailureOr<TableOptions> tableOptions = getTableOptions(module);
  FailureOr<AssignOptions> assignOptions = getAssignOptions(module);
  FailureOr<Pins> pins = getPins(module);
  if (failed(tableOptions) || failed(assignOptions) || failed(pins))
    return failure();
  Tables tables(*tableOptions);
  graphs.clear();
  if (failed(decide(module, tables, *pins, *assignOptions)) ||
      failed(readDecisions(module, *assignOptions)))
    return failure();
  for (const std::unique_ptr<Graph> &graph : graphs)
    Assigner(*graph, *assignOptions).emit();
  remarkUnknown(graphs);
  if (!saveDecisions.empty())
    if (llvm::Error error = DecisionFile::write(saveDecisions, module, graphs))
      return emitError(module.getLoc(), llvm::toString(std::move(error)));
  graphs.clear();
  return success();
}
