//===- Report.cpp - What autocast decided and did -------------------------===//
//
// Collects the report's contents from decisions and casts.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "CastUtils.h"
#include "ConstantStats.h"
#include "NodeNames.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace amp;

static bool isConstant(Value value) {
  return isa_and_present<onnx::InitializerOp, onnx::ConstantOp>(
      value.getDefiningOp());
}

static int64_t getElementSize(Type type) { return type.isF32() ? 4 : 2; }

/// What was decided about was float32 before.
static Report::Bytes countBytes(Value value, Type decided) {
  int64_t size = getElementSize(getElementType(value));
  int64_t elements = countElements(value);
  return {elements * (decided ? 4 : size), elements * size};
}

static void add(Report::Bytes &sum, Report::Bytes bytes) {
  sum.before += bytes.before;
  sum.after += bytes.after;
}

/// The name a result had in the model; a graph output's is with its cast now.
static StringRef getOutputName(Value result) {
  StringRef name = onnx::getValueName(result);
  for (Operation *user : result.getUsers())
    if (auto cast = dyn_cast<CastOp>(user); cast && name.empty())
      name = onnx::getValueName(cast.getResult());
  return name;
}

std::optional<int64_t> Report::findEntry(Value value) const {
  Operation *op = value.getDefiningOp();
  while (auto cast = dyn_cast_or_null<CastOp>(op))
    op = cast.getInput().getDefiningOp();
  auto found = entryOf.find(op);
  return found == entryOf.end() ? std::nullopt : std::optional(found->second);
}

void Report::addOp(Operation *op, std::string name) {
  DecisionAttr decision = getDecision(op);
  entryOf[op] = ops.size();
  Op &entry = ops.emplace_back();
  entry.name = std::move(name);
  entry.type = onnx::getOpType(op);
  entry.decision = decision;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    entry.reads.push_back(findEntry(operand));
    if (!isCastable(operand.getType()))
      continue;
    auto cast = operand.getDefiningOp<CastOp>();
    entry.numCasts += cast && !isConstant(cast.getInput());
    add(entry.bytes, countBytes(operand, decision.getOperandType(index)));
  }
  for (OpResult result : op->getResults()) {
    entry.outputs.push_back(getOutputName(result));
    if (isCastable(result.getType()))
      add(entry.bytes,
          countBytes(result, decision.getResultType(result.getResultNumber())));
  }
  add(bytes, entry.bytes);
  auto slots =
      llvm::concat<const Type>(decision.getOperands(), decision.getResults());
  if (llvm::any_of(slots, llvm::IsaPred<Float16Type, BFloat16Type>))
    ++numNarrow;
  else if (llvm::any_of(slots, llvm::IsaPred<Float32Type>))
    ++numWide;
  else
    ++numKept;
  ++numByRule[decision.getRule()];
}

void Report::addCast(CastOp cast) {
  if (!isConstant(cast.getInput())) {
    ++numCasts;
    return;
  }
  Type type = getElementType(cast.getResult());
  if (type.isF32() || !getElementType(cast.getInput()).isF32())
    return;
  ++numNarrowedConstants;
  NarrowingStats stats =
      countNarrowing(cast.getInput(),
                     type.isF16() ? HalfFormat::Float16 : HalfFormat::BFloat16);
  if (stats.overflows || stats.flushes)
    constants.push_back({onnx::getValueName(cast.getInput()), type,
                         countElements(cast.getInput()), stats,
                         cast.getClamp()});
}

/// A constant is stored in every type it is read in.
void Report::addConstant(Value constant) {
  if (!isCastable(constant.getType()) || constant.use_empty())
    return;
  int64_t size = getElementSize(getElementType(constant));
  int64_t elements = countElements(constant);
  constantBytes.before += elements * size;
  if (!llvm::all_of(constant.getUsers(), llvm::IsaPred<CastOp>))
    constantBytes.after += elements * size;
  for (Operation *user : constant.getUsers())
    if (auto cast = dyn_cast<CastOp>(user))
      constantBytes.after +=
          elements * getElementSize(getElementType(cast.getResult()));
}

Report Report::collect(ModuleOp module) {
  Report report;
  llvm::StringMap<unsigned> nameCounts = countNodeNames(module);
  // As decision files count: casts do not, and an op with bodies has the number
  // of the last op in them.
  unsigned numOps = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (auto removed = function->getAttrOfType<IntegerAttr>(
            AmpDialect::getRemovedCastsAttrName()))
      report.numRemovedCasts += removed.getInt();
    function.walk([&](Operation *op, const WalkStage &stage) {
      if (op == function)
        return;
      if (stage.isBeforeAllRegions() && !isa<CastOp>(op))
        ++numOps;
      if (!stage.isAfterAllRegions())
        return;
      if (auto cast = dyn_cast<CastOp>(op))
        report.addCast(cast);
      else if (isa<onnx::InitializerOp, onnx::ConstantOp>(op))
        report.addConstant(op->getResult(0));
      if (!getDecision(op))
        return;
      StringRef name = onnx::getNodeName(op);
      report.addOp(
          op,
          nameCounts.lookup(name) == 1
              ? name.str()
              : ("#" + Twine(numOps - 1) + ":" + onnx::getOpType(op)).str());
    });
  }
  return report;
}
