//===- Lint.cpp - What would go wrong in half -----------------------------===//
//
// The pass, and what the rules share.
//
//===----------------------------------------------------------------------===//

#include "Lint.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "amp/Support/AtomicFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace amp {
#define GEN_PASS_DEF_LINTPASS
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;
using namespace amp::lint;

//===----------------------------------------------------------------------===//
// What the rules share
//===----------------------------------------------------------------------===//

std::string amp::lint::describe(Operation *op) {
  std::string type = onnx::getOpType(op).str();
  StringRef name = onnx::getNodeName(op);
  if (!name.empty())
    return "'" + name.str() + "' (" + type + ")";
  StringRef output =
      op->getNumResults() ? onnx::getValueName(op->getResult(0)) : StringRef();
  if (isa<onnx::InitializerOp>(op))
    return output.empty() ? "a constant" : "'" + output.str() + "'";
  return output.empty() ? type : type + " of '" + output.str() + "'";
}

bool amp::lint::isTransparent(Operation *op) {
  return isa<onnx::CastOp, onnx::ConcatOp, onnx::ExpandOp, onnx::FlattenOp,
             onnx::GatherOp, onnx::IdentityOp, onnx::ReshapeOp, onnx::SliceOp,
             onnx::SplitOp, onnx::SqueezeOp, onnx::TileOp, onnx::TransposeOp,
             onnx::UnsqueezeOp>(op);
}

std::optional<float> amp::lint::getSplatValue(Value constant) {
  if (auto op = constant.getDefiningOp<onnx::ConstantOp>())
    if (FloatAttr value = op.getValueFloatAttr())
      return value.getValue().convertToFloat();
  auto elements =
      dyn_cast_or_null<DenseFPElementsAttr>(onnx::getConstantValue(constant));
  if (!elements || !elements.isSplat() || !elements.getElementType().isF32())
    return std::nullopt;
  return elements.getSplatValue<float>();
}

float amp::lint::roundToHalf(float value, HalfFormat format) {
  APFloat rounded(value);
  bool losesInfo;
  rounded.convert(format == HalfFormat::Float16 ? APFloat::IEEEhalf()
                                                : APFloat::BFloat(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
  rounded.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return rounded.convertToFloat();
}

std::string amp::lint::formatFloat(float value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", value);
  return text;
}

void Linter::report(StringLiteral rule, Operation *op, const Twine &message) {
  findings.push_back({rule, op, (describe(op) + ": " + message).str()});
}

void Linter::run() {
  checkGuards();
  checkMasks();
  checkWeights();
  checkSums();
  checkPositions();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static std::string formatJson(ArrayRef<Finding> findings) {
  std::string text = "{\n \"version\": 1,\n \"findings\": [";
  llvm::raw_string_ostream os(text);
  StringRef separator = "\n  ";
  for (const Finding &finding : findings) {
    os << separator;
    llvm::json::OStream json(os);
    json.object([&] {
      json.attribute("rule", finding.rule);
      json.attribute("name",
                     llvm::json::fixUTF8(onnx::getNodeName(finding.op)));
      json.attribute("op", onnx::getOpType(finding.op));
      json.attribute("message", llvm::json::fixUTF8(finding.message));
    });
    separator = ",\n  ";
  }
  os << (findings.empty() ? "]\n}\n" : "\n ]\n}\n");
  return text;
}

namespace {

struct Lint : amp::impl::LintPassBase<Lint> {
  using LintPassBase::LintPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!attach)
      markAllAnalysesPreserved();
    if (dtype != "f16" && dtype != "bf16") {
      module.emitError("expects f16 or bf16 for the option 'dtype', but got '")
          << dtype << "'";
      return signalPassFailure();
    }
    HalfFormat format =
        dtype == "f16" ? HalfFormat::Float16 : HalfFormat::BFloat16;
    OpFacts facts = OpFacts::builtin();
    std::vector<Finding> findings;
    for (auto function : module.getOps<func::FuncOp>())
      Linter(function, format, facts, findings).run();
    for (const Finding &finding : findings)
      finding.op->emitWarning(finding.message + " [" + finding.rule + "]");
    if (attach)
      module->setAttr(AmpDialect::getFindingsAttrName(),
                      StringAttr::get(&getContext(), formatJson(findings)));
    if (file.empty())
      return;
    if (llvm::Error error = writeTextFile(file, formatJson(findings))) {
      module.emitError("findings: ") << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }
};

} // namespace
