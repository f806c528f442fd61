//===- ExportOnnx.cpp - IR to ModelProto ----------------------------------===//
// Plans, serializes and writes a module; errors become diagnostics.
//===----------------------------------------------------------------------===//

#include "amp/Target/Onnx/ExportOnnx.h"
#include "Check.h"
#include "GraphWriter.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;
using ::onnx::ModelProto;

/// What protobuf's own readers accept in one file.
static constexpr uint64_t maxFileSize = INT32_MAX;
/// Smallest tensor that leaves a file which grew too large.
static constexpr uint64_t defaultThreshold = 1024;

//===----------------------------------------------------------------------===//
// What to export
//===----------------------------------------------------------------------===//

namespace {

/// The parts of a module that has the form of an ONNX model.
struct ModelParts {
  amp::onnx::ModelOp model;
  func::FuncOp function;
};

} // namespace

static FailureOr<ModelParts> findParts(ModuleOp module) {
  ModelParts parts;
  SmallVector<func::FuncOp> candidates;
  for (Operation &op : *module.getBody()) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      candidates.push_back(function);
    } else if (auto model = dyn_cast<amp::onnx::ModelOp>(op);
               model && !parts.model) {
      parts.model = model;
    } else {
      return op.emitError() << "'" << op.getName()
                            << "' has no place in an ONNX model, which has one "
                               "onnx.model and one function";
    }
  }
  if (candidates.size() > 1)
    llvm::erase_if(candidates, [](func::FuncOp f) { return f.isPrivate(); });
  if (candidates.size() != 1) {
    InFlightDiagnostic error = module.emitError()
                               << "expects one public function to write as the "
                                  "graph of an ONNX model, but got "
                               << candidates.size();
    for (func::FuncOp function : candidates)
      error.attachNote(function.getLoc())
          << "'" << function.getName() << "' is one";
    return error;
  }
  parts.function = candidates.front();
  if (failed(checkFunction(parts.function)) ||
      (parts.model && failed(checkModel(parts.model))))
    return failure();
  return parts;
}

//===----------------------------------------------------------------------===//
// The model around the graph
//===----------------------------------------------------------------------===//

static void addOpset(WireBuffer &message, StringRef domain, int64_t version) {
  ::onnx::OperatorSetIdProto opset;
  // The default domain is left out, as most writers do.
  if (!domain.empty())
    opset.set_domain(domain.str());
  opset.set_version(version);
  message.addMessage(ModelProto::kOpsetImportFieldNumber, opset);
}

/// Domains that the nodes of a module without onnx.model name.
static std::map<std::string, int64_t> collectDomains(func::FuncOp function) {
  std::map<std::string, int64_t> domains;
  function.walk([&](amp::onnx::NodeOp node) {
    if (!node.getOpDomain().empty() && node.getOpDomain() != "ai.onnx")
      domains.try_emplace(node.getOpDomain().str(),
                          node.getOpset().value_or(1));
  });
  return domains;
}

static void writeOpsets(ModelParts parts, const OpsetPlan &opsets,
                        WireBuffer &message) {
  if (opsets.addsImport())
    addOpset(message, "", opsets.getOpset());
  if (!parts.model) {
    for (const auto &[domain, version] : collectDomains(parts.function))
      addOpset(message, domain, version);
    return;
  }
  bool isImplied = parts.model.getOpsets().empty() && opsets.getOpset() > 1;
  if (isImplied && !opsets.addsImport())
    addOpset(message, "", opsets.getOpset());
  for (auto opset :
       parts.model.getOpsets().getAsRange<amp::onnx::OpsetAttr>()) {
    bool isDefault =
        opset.getDomain().empty() || opset.getDomain() == "ai.onnx";
    addOpset(message, opset.getDomain(),
             isDefault && !opsets.isOwnOpset() ? opsets.getOpset()
                                               : opset.getVersion());
  }
}

static void writeMetadata(amp::onnx::ModelOp model, WireBuffer &message) {
  auto addString = [&](unsigned field, std::optional<StringRef> value) {
    if (value)
      message.addString(field, *value);
  };
  if (!model)
    return message.addString(ModelProto::kProducerNameFieldNumber, "amp-mlir");
  addString(ModelProto::kProducerNameFieldNumber, model.getProducerName());
  addString(ModelProto::kProducerVersionFieldNumber,
            model.getProducerVersion());
  addString(ModelProto::kDomainFieldNumber, model.getModelDomain());
  if (std::optional<int64_t> version = model.getModelVersion())
    message.addInt(ModelProto::kModelVersionFieldNumber, *version);
  addString(ModelProto::kDocStringFieldNumber, model.getDocString());
}

/// Pairs of key and value, and what the IR does not model.
static void writeRest(amp::onnx::ModelOp model, WireBuffer &message) {
  if (!model)
    return;
  if (ArrayAttr props = model.getMetadataPropsAttr()) {
    for (auto pair : props.getAsRange<ArrayAttr>()) {
      message.addPair(ModelProto::kMetadataPropsFieldNumber,
                      cast<StringAttr>(pair[0]), cast<StringAttr>(pair[1]));
    }
  }
  if (std::optional<StringRef> verbatim = model.getVerbatim())
    message.addFields(*verbatim);
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

namespace {

/// One export, from module to file.
class Exporter {
public:
  Exporter(ModelParts parts, StringRef path, const ExportOnnxOptions &options)
      : parts(parts), path(path), options(options) {}

  LogicalResult run();

private:
  LogicalResult serialize(uint64_t threshold);
  llvm::Error writeFiles();

  ModelParts parts;
  StringRef path;
  const ExportOnnxOptions &options;
  FunctionPlan plan;
  OpsetPlan opsets{plan};
  llvm::BumpPtrAllocator arena;
  std::optional<GraphWriter> writer;
  ExternalData external;
  std::optional<WireBuffer> message;
};

} // namespace

/// Serializes the model; with `threshold` > 0 larger tensors go to a data file.
LogicalResult Exporter::serialize(uint64_t threshold) {
  external = {};
  if (threshold > 0) {
    if (path == "-")
      return parts.function.emitError()
             << "cannot be written to standard output: the tensors do not fit "
                "in one file of 2 GiB; give a file name, so that they can go "
                "to a file beside it";
    external.location = (llvm::sys::path::filename(path) + ".data").str();
    external.threshold = threshold;
  }
  writer.emplace(plan, opsets, external, arena);
  FailureOr<WireBuffer> graph = writer->write(&parts.function.front());
  if (failed(graph))
    return failure();
  message.emplace(arena);
  if (opsets.getIrVersion() > 0)
    message->addInt(ModelProto::kIrVersionFieldNumber, opsets.getIrVersion());
  writeMetadata(parts.model, *message);
  message->addMessage(ModelProto::kGraphFieldNumber, std::move(*graph));
  writeOpsets(parts, opsets, *message);
  writeRest(parts.model, *message);
  return success();
}

llvm::Error Exporter::writeFiles() {
  using File = llvm::Expected<std::unique_ptr<AtomicFile>>;
  File model = AtomicFile::create(path);
  if (!model)
    return model.takeError();
  std::unique_ptr<AtomicFile> data;
  if (!external.pieces.empty()) {
    File created = AtomicFile::create((path + ".data").str());
    if (!created)
      return created.takeError();
    data = std::move(*created);
    if (llvm::Error error = data->reserve(external.size))
      return error;
    if (llvm::Error error = writePieces(external.pieces, *data))
      return error;
  }
  if (llvm::Error error = (*model)->reserve(message->size()))
    return error;
  if (llvm::Error error = writePieces(message->getPieces(), **model))
    return error;
  // The model must not be seen before the data it names.
  SmallVector<AtomicFile *> files;
  if (data)
    files.push_back(data.get());
  files.push_back(model->get());
  return AtomicFile::commit(files);
}

LogicalResult Exporter::run() {
  plan.constants.build(parts.function);
  StringAttr verbatim = parts.model ? parts.model.getVerbatimAttr() : nullptr;
  if (failed(plan.names.build(parts.function, verbatim)) ||
      failed(opsets.choose(parts.function, parts.model, options.opset)) ||
      failed(serialize(options.externalDataThreshold)))
    return failure();
  if (message->size() > maxFileSize && options.externalDataThreshold == 0 &&
      failed(serialize(defaultThreshold)))
    return failure();
  if (message->size() > maxFileSize)
    return parts.function.emitError()
           << "has " << message->size() << " bytes beside its large tensors; "
           << "an ONNX file cannot be larger than 2 GiB";
  if (llvm::Error error = writeFiles())
    return parts.function.emitError() << llvm::toString(std::move(error));
  return success();
}

LogicalResult amp::exportOnnx(ModuleOp module, StringRef path,
                              const ExportOnnxOptions &options) {
  FailureOr<ModelParts> parts = findParts(module);
  if (failed(parts))
    return failure();
  try {
    return Exporter(*parts, path, options).run();
  } catch (const std::exception &error) {
    return parts->function.emitError()
           << "cannot be written as an ONNX model: " << error.what();
  }
}
