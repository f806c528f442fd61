//===- Importer.cpp - ModelProto to IR ------------------------------------===//
//
// The model around the graph, and the checks before and after.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "amp/Frontend/Onnx/ImportOnnx.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace amp::importer;
using amp::onnx::ModelOp;
using amp::onnx::OnnxDialect;
using amp::onnx::OpsetAttr;

ModelImporter::ModelImporter(std::shared_ptr<llvm::MemoryBuffer> theBuffer,
                             StringRef path, MLIRContext *context)
    : buffer(std::move(theBuffer)), context(context), builder(context),
      tensors(buffer, path == "-" ? StringRef() : path, context),
      fileLocation(FileLineColLoc::get(
          context, path.empty() || path == "-" ? "<stdin>" : path, 0, 0)),
      inference(std::make_unique<onnx::TypeInference>()) {}

ModelImporter::~ModelImporter() {
  inference.reset();
  for (Operation *op : discarded)
    op->dropAllReferences();
  for (Operation *op : discarded) {
    op->dropAllUses();
    op->destroy();
  }
}

InFlightDiagnostic ModelImporter::emitError() {
  return mlir::emitError(fileLocation);
}

InFlightDiagnostic ModelImporter::emitError(const NodeSpine &node) {
  return mlir::emitError(fileLocation) << describeNode(node) << ": ";
}

InFlightDiagnostic ModelImporter::emitWarning() {
  return mlir::emitWarning(fileLocation);
}

LogicalResult ModelImporter::report(llvm::Error error) {
  if (!error)
    return success();
  return emitError() << llvm::toString(std::move(error));
}

LogicalResult ModelImporter::report(const NodeSpine &node, llvm::Error error) {
  if (!error)
    return success();
  return emitError(node) << llvm::toString(std::move(error));
}

LogicalResult ModelImporter::checkIrVersion() {
  const int64_t newest = ::onnx::IR_VERSION;
  if (!model.irVersion)
    return emitError() << "the model has no ir_version; it is not an ONNX "
                          "model, or it is damaged";
  if (*model.irVersion < 1)
    return emitError() << "the model has the ir_version " << *model.irVersion
                       << ", but versions start at 1; set it to the version "
                          "that the model was made for ("
                       << newest << " is the newest known)";
  if (*model.irVersion > newest)
    emitWarning() << "the model has the ir_version " << *model.irVersion
                  << ", but the newest known is " << newest
                  << "; what is new in it is kept as it is, but passes do not "
                     "see it; export the model with an older ir_version";
  return success();
}

/// Each domain is imported once. ai.onnx has two spellings; files that use both
/// exist, and engines take the last.
LogicalResult ModelImporter::checkOpsetImports() {
  llvm::SmallDenseMap<StringRef, std::pair<StringRef, int64_t>> versions;
  for (auto [spelled, version] : model.opsets) {
    StringRef domain = spelled.empty() ? StringRef("ai.onnx") : spelled;
    auto [known, isNew] =
        versions.try_emplace(domain, std::make_pair(spelled, version));
    if (isNew)
      continue;
    auto [otherSpelled, other] = known->second;
    if (other != version && otherSpelled == spelled)
      return emitError() << "the model imports the domain '" << domain
                         << "' twice, with opset " << other
                         << " and with opset " << version
                         << "; keep the one that its nodes were made for";
    if (other != version)
      emitWarning() << "the model imports the domain 'ai.onnx' as '' and as "
                       "'ai.onnx', with opset "
                    << other << " and with opset " << version
                    << "; the last is taken; keep one";
    else
      emitWarning() << "the model imports the domain '" << domain
                    << "' twice, both times with opset " << version
                    << "; remove one";
    known->second = {spelled, version};
  }
  auto own = versions.find("ai.onnx");
  if (own == versions.end())
    return success();
  opset = own->second.second;
  int newest = onnx_opset::getNewestOpset();
  if (opset < 1 || opset > newest)
    return emitError() << "the model imports opset " << opset
                       << " of ai.onnx, but 1 to " << newest
                       << " are known; correct the opset_import, or export "
                          "the model with one of these";
  return success();
}

LogicalResult ModelImporter::checkVersions() {
  if (failed(checkIrVersion()) || failed(checkOpsetImports()))
    return failure();
  // Files of IR version 1 and 2 may leave the import out; it is opset 1 then.
  if (opset == 0 && *model.irVersion < 3)
    opset = 1;
  return success();
}

LogicalResult ModelImporter::buildModelOp() {
  auto attribute = [&](std::optional<StringRef> text) {
    return text ? builder.getStringAttr(*text) : StringAttr();
  };
  SmallVector<Attribute> opsets, metadata;
  for (auto [domain, version] : model.opsets)
    opsets.push_back(OpsetAttr::get(context, domain, version));
  for (auto [key, value] : model.metadata)
    metadata.push_back(builder.getStrArrayAttr({key, value}));
  ModelOp::create(
      builder, fileLocation, builder.getI64IntegerAttr(*model.irVersion),
      builder.getArrayAttr(opsets), attribute(model.producerName),
      attribute(model.producerVersion), attribute(model.domain),
      model.modelVersion ? builder.getI64IntegerAttr(*model.modelVersion)
                         : IntegerAttr(),
      attribute(model.docString),
      metadata.empty() ? ArrayAttr() : builder.getArrayAttr(metadata),
      model.verbatim.empty() ? StringAttr()
                             : builder.getStringAttr(model.verbatim));
  return success();
}

LogicalResult ModelImporter::verifyModule() {
  // Names the node, which the default text of a location leaves out.
  ScopedDiagnosticHandler handler(
      context, [&](Diagnostic &diagnostic) -> LogicalResult {
        auto location = dyn_cast<NameLoc>(diagnostic.getLocation());
        if (!location || diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure();
        std::string text = diagnostic.str();
        context->getDiagEngine().emit(fileLocation, DiagnosticSeverity::Error)
            << "'" << location.getName().getValue() << "': " << text;
        return success();
      });
  return verify(*module);
}

void ModelImporter::tellCounts() {
  size_t untold = llvm::count_if(
      contradictions, [](const auto &entry) { return !entry.second; });
  if (untold)
    emitWarning() << untold
                  << " more declared types contradict what was inferred";
  if (numGeneric == 1)
    emitRemark(fileLocation)
        << "one node of ai.onnx is kept as it is, without types that passes "
           "could use: "
        << firstGeneric;
  else if (numGeneric)
    emitRemark(fileLocation)
        << numGeneric
        << " nodes of ai.onnx are kept as they are, without types that passes "
           "could use; the first is "
        << firstGeneric;
}

LogicalResult ModelImporter::importModel() {
  StringRef bytes(buffer->getBufferStart(), buffer->getBufferSize());
  if (llvm::Error error = scanModel(bytes, model))
    return emitError() << "this is not an ONNX model, or it is damaged: "
                       << llvm::toString(std::move(error));
  if (failed(checkVersions()))
    return failure();
  if (!model.graph)
    return emitError() << "the model has no graph";
  functions.insert(model.functions.begin(), model.functions.end());
  module = ModuleOp::create(fileLocation);
  builder.setInsertionPointToStart(module->getBody());
  if (failed(buildModelOp()) || failed(importMainGraph(*model.graph)))
    return failure();
  tellCounts();
  return verifyModule();
}

OwningOpRef<ModuleOp> ModelImporter::run() {
  if (failed(importModel()))
    return nullptr;
  return std::move(module);
}

OwningOpRef<ModuleOp>
amp::importOnnx(std::shared_ptr<llvm::MemoryBuffer> buffer, StringRef path,
                MLIRContext *context) {
  context->loadDialect<OnnxDialect, func::FuncDialect>();
  try {
    return ModelImporter(std::move(buffer), path, context).run();
  } catch (const std::exception &exception) {
    mlir::emitError(FileLineColLoc::get(context, path, 0, 0))
        << "the model can't be read: " << exception.what();
    return nullptr;
  }
}

bool amp::isOnnxModel(StringRef contents) {
  // Text and bytecode never begin like this: field 1 (ir_version), 2 or 3
  // (producer), in that order in most files.
  if (contents.starts_with("\x08") || contents.starts_with("\x12") ||
      contents.starts_with("\x1a"))
    return true;
  WireReader reader(contents);
  WireField field;
  bool hasGraph = false;
  while (reader.next(field))
    hasGraph |= field.isBytes(7);
  return hasGraph && !reader.getProblem();
}
