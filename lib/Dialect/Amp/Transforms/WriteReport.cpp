//===- WriteReport.cpp - Writes the report --------------------------------===//
//
// The report as JSON, one line per op, as text and as a page; the pass that
// writes it.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "amp/Support/AtomicFile.h"
#include "amp/Support/ReportPage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

namespace amp {
#define GEN_PASS_DEF_WRITEREPORTPASS
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

/// The format's version; a change that a reader would notice raises it.
static constexpr int64_t reportVersion = 1;

static StringRef getTypeName(Type type) {
  return type.isF32() ? "f32" : type.isF16() ? "f16" : "bf16";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeTypes(llvm::json::OStream &json, StringRef key,
                       ArrayRef<Type> types) {
  json.attributeArray(key, [&] {
    for (Type type : types)
      if (isa<NoneType>(type))
        json.value(nullptr);
      else
        json.value(getTypeName(type));
  });
}

static void writeBytes(llvm::json::OStream &json, StringRef key,
                       Report::Bytes bytes) {
  json.attributeObject(key, [&] {
    json.attribute("before", bytes.before);
    json.attribute("after", bytes.after);
  });
}

static void writeJson(llvm::json::OStream &json, const Report::Op &op) {
  json.object([&] {
    json.attribute("name", op.name);
    json.attribute("op", op.type);
    json.attributeArray("outputs", [&] {
      for (StringRef name : op.outputs)
        json.value(llvm::json::fixUTF8(name));
    });
    json.attribute("class", stringifyOpClass(op.decision.getOpClass()));
    writeTypes(json, "operands", op.decision.getOperands());
    writeTypes(json, "results", op.decision.getResults());
    json.attribute("rule", stringifyDecisionRule(op.decision.getRule()));
    if (!op.decision.getBy().empty())
      json.attribute("by", llvm::json::fixUTF8(op.decision.getBy()));
    if (!op.decision.getNote().empty())
      json.attribute("note", llvm::json::fixUTF8(op.decision.getNote()));
    json.attribute("casts", op.numCasts);
    json.attributeArray("reads", [&] {
      for (std::optional<int64_t> entry : op.reads)
        json.value(entry ? llvm::json::Value(*entry) : nullptr);
    });
    writeBytes(json, "bytes", op.bytes);
  });
}

static void writeJson(llvm::json::OStream &json,
                      const Report::Constant &constant) {
  auto lost = [&](uint64_t count) { return constant.clamped ? 0 : count; };
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(constant.name));
    json.attribute("type", getTypeName(constant.type));
    json.attribute("elements", constant.numElements);
    json.attribute("overflowed", lost(constant.stats.overflows));
    json.attribute("flushed", lost(constant.stats.flushes));
    json.attribute("clamped", constant.clamped ? constant.stats.overflows +
                                                     constant.stats.flushes
                                               : 0);
  });
}

static void writeSummary(llvm::json::OStream &json, const Report &report) {
  json.attribute("ops", int64_t(report.ops.size()));
  json.attribute("narrow", report.numNarrow);
  json.attribute("wide", report.numWide);
  json.attribute("kept", report.numKept);
  json.attributeObject("rules", [&] {
    for (auto [rule, count] : report.numByRule)
      json.attribute(stringifyDecisionRule(rule), count);
  });
  json.attribute("casts", report.numCasts);
  json.attribute("casts_removed", report.numRemovedCasts);
  writeBytes(json, "bytes", report.bytes);
  json.attribute("constants_narrowed", report.numNarrowedConstants);
  json.attribute("constants_changed", int64_t(report.constants.size()));
  writeBytes(json, "constant_bytes", report.constantBytes);
}

/// `entries` as the elements of an array, each on a line of its own.
template <typename Entries>
static void writeLines(llvm::raw_ostream &os, const Entries &entries) {
  StringRef separator = "\n  ";
  for (const auto &entry : entries) {
    os << separator;
    llvm::json::OStream json(os);
    writeJson(json, entry);
    separator = ",\n  ";
  }
  os << (entries.empty() ? "" : "\n ");
}

void Report::writeJson(llvm::raw_ostream &os) const {
  os << "{\n \"version\": " << reportVersion << ",\n \"summary\": ";
  {
    llvm::json::OStream json(os);
    json.object([&] { writeSummary(json, *this); });
  }
  os << ",\n \"ops\": [";
  writeLines(os, ops);
  os << "],\n \"constants\": [";
  writeLines(os, constants);
  os << "]\n}\n";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string formatBytes(int64_t bytes) {
  static constexpr StringLiteral units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = bytes;
  unsigned unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit)
    size /= 1024;
  return llvm::formatv(unit ? "{0:F1} {1}" : "{0:F0} {1}", size, units[unit])
      .str();
}

static std::string plural(uint64_t count, StringRef word) {
  return (Twine(count) + " " + word + (count == 1 ? "" : "s")).str();
}

static std::string formatTypes(ArrayRef<Type> types) {
  std::string text = "(";
  for (Type type : types) {
    text += text.size() > 1 ? ", " : "";
    text += isa<NoneType>(type) ? StringRef("_") : getTypeName(type);
  }
  return text + ")";
}

static void writeSummary(llvm::raw_ostream &os, const Report &report) {
  os << plural(report.ops.size(), "op") << ": " << report.numNarrow
     << " narrow, " << report.numWide << " in float32, " << report.numKept
     << " keep their types\n"
     << plural(report.numCasts, "cast") << " added, " << report.numRemovedCasts
     << " removed; " << plural(report.numNarrowedConstants, "constant")
     << " narrowed, " << report.constants.size()
     << " of them changed beyond rounding\n"
     << "the ops read and write " << formatBytes(report.bytes.after)
     << " of floats, before " << formatBytes(report.bytes.before)
     << "; constants take " << formatBytes(report.constantBytes.after)
     << ", before " << formatBytes(report.constantBytes.before) << "\n";
}

static void writeText(llvm::raw_ostream &os, const Report::Constant &constant) {
  os << "  '" << constant.name << "': of "
     << plural(constant.numElements, "value") << " in "
     << getTypeName(constant.type) << ", ";
  if (constant.clamped)
    os << constant.stats.overflows + constant.stats.flushes << " clamped";
  else
    os << constant.stats.overflows << " became infinite, "
       << constant.stats.flushes << " became zero";
  os << "\n";
}

static void writeText(llvm::raw_ostream &os, const Report::Op &op) {
  DecisionAttr decision = op.decision;
  os << "  " << op.name << ": " << op.type << " "
     << formatTypes(decision.getOperands()) << " -> "
     << formatTypes(decision.getResults()) << ", "
     << stringifyOpClass(decision.getOpClass()) << ", "
     << stringifyDecisionRule(decision.getRule());
  if (!decision.getBy().empty())
    os << " by '" << decision.getBy() << "'";
  if (op.numCasts)
    os << ", " << plural(op.numCasts, "cast");
  os << ", " << formatBytes(op.bytes.before);
  if (op.bytes.after != op.bytes.before)
    os << " to " << formatBytes(op.bytes.after);
  if (!decision.getNote().empty())
    os << ": " << decision.getNote();
  os << "\n";
}

void Report::writeText(llvm::raw_ostream &os) const {
  writeSummary(os, *this);
  if (!constants.empty())
    os << "\nconstants that changed beyond rounding:\n";
  for (const Constant &constant : constants)
    ::writeText(os, constant);
  os << "\nops (operand types -> result types, class, rule, bytes: why):\n";
  for (const Op &op : ops)
    ::writeText(os, op);
}

//===----------------------------------------------------------------------===//
// Page
//===----------------------------------------------------------------------===//

/// The model's file, decisions, and findings where lint has left some.
static std::string getPageData(ModuleOp module, StringRef report) {
  std::string data = "{";
  llvm::raw_string_ostream os(data);
  if (auto place = module.getLoc()->findInstanceOf<FileLineColLoc>())
    os << "\"title\": "
       << llvm::json::Value(llvm::json::fixUTF8(
              llvm::sys::path::filename(place.getFilename())))
       << ", ";
  if (auto findings =
          module->getAttrOfType<StringAttr>(AmpDialect::getFindingsAttrName()))
    os << "\"lint\": " << findings.getValue() << ", ";
  os << "\"autocast\": " << report << "}";
  return data;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct WriteReport : amp::impl::WriteReportPassBase<WriteReport> {
  using WriteReportPassBase::WriteReportPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!file.empty() || attach)
      if (llvm::Error error = write(module)) {
        module.emitError("report: ") << llvm::toString(std::move(error));
        return signalPassFailure();
      }
    module->removeDiscardableAttr(AmpDialect::getFindingsAttrName());
    if (keepDecisions)
      return;
    module.walk([](Operation *op) {
      op->removeDiscardableAttr(AmpDialect::getDecisionAttrName());
      if (isa<func::FuncOp>(op))
        op->removeDiscardableAttr(AmpDialect::getRemovedCastsAttrName());
    });
  }

private:
  ReportFormat getFormat() const {
    if (format != ReportFormat::ByName)
      return format;
    if (isPageName(file))
      return ReportFormat::Html;
    return StringRef(file).ends_with(".json") ? ReportFormat::Json
                                              : ReportFormat::Text;
  }

  llvm::Error write(ModuleOp module) {
    Report report = Report::collect(module);
    std::string text, json;
    llvm::raw_string_ostream textStream(text), jsonStream(json);
    report.writeJson(jsonStream);
    if (attach)
      module->setAttr(AmpDialect::getReportAttrName(),
                      StringAttr::get(&getContext(), json));
    if (file.empty())
      return llvm::Error::success();
    switch (getFormat()) {
    case ReportFormat::Html:
      return writeTextFile(file, makeReportPage(getPageData(module, json)));
    case ReportFormat::Json:
      return writeTextFile(file, json);
    default:
      report.writeText(textStream);
      return writeTextFile(file, text);
    }
  }
};

} // namespace
