//===- Module.cpp - A model as Python holds it ----------------------------===//
//
// Content decides what a file is that is read, its name what one is that is
// written.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Arrays.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "amp/Frontend/Onnx/ImportOnnx.h"
#include "amp/Support/AtomicFile.h"
#include "amp/Target/Onnx/ExportOnnx.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace mlir;
using namespace amp::python;
namespace nb = nanobind;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::shared_ptr<Module> Module::load(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    throw Error("cannot read '" + path + "': " + buffer.getError().message());
  if ((*buffer)->getBufferSize() == 0)
    throw Error("'" + path + "' is empty");
  auto context = makeContext();
  Diagnostics diagnostics(context.get());
  OwningOpRef<ModuleOp> module;
  if (isOnnxModel((*buffer)->getBuffer()))
    module = importOnnx(std::move(*buffer), path, context.get());
  else
    module = parseSourceString<ModuleOp>((*buffer)->getBuffer(), context.get(),
                                         path);
  if (!module)
    diagnostics.raise("'" + path + "' is no ONNX model and no MLIR module");
  diagnostics.warn();
  return std::make_shared<Module>(std::move(context), std::move(module), path);
}

std::shared_ptr<Module> Module::parse(const std::string &text) {
  auto context = makeContext();
  Diagnostics diagnostics(context.get());
  auto module = parseSourceString<ModuleOp>(text, context.get(), "<text>");
  if (!module)
    diagnostics.raise("the text is no MLIR module");
  diagnostics.warn();
  return std::make_shared<Module>(std::move(context), std::move(module),
                                  "<text>");
}

func::FuncOp Module::getFunction() const {
  for (func::FuncOp function : get().getOps<func::FuncOp>())
    return function;
  throw Error("'" + source + "' has no graph");
}

//===----------------------------------------------------------------------===//
// Text, passes, files
//===----------------------------------------------------------------------===//

std::string Module::getText(std::optional<int64_t> elideOver,
                            bool locations) const {
  OpPrintingFlags flags;
  if (elideOver)
    flags.elideLargeElementsAttrs(*elideOver)
        .elideLargeResourceString(*elideOver);
  if (locations)
    flags.enableDebugInfo();
  std::string text;
  llvm::raw_string_ostream os(text);
  get()->print(os, flags);
  os << '\n';
  return text;
}

/// Runs the passes that `fill` adds; it explains a failure of its own.
void Module::run(
    llvm::function_ref<LogicalResult(OpPassManager &, std::string &)> fill) {
  Diagnostics diagnostics(context.get());
  {
    nb::gil_scoped_release unlocked;
    std::string problem;
    PassManager pm(context.get(), ModuleOp::getOperationName(),
                   PassManager::Nesting::Implicit);
    LogicalResult filled = fill(pm, problem);
    diagnostics.check(filled, StringRef(problem).trim());
    diagnostics.check(pm.run(get()), "a pass failed without saying why");
  }
  diagnostics.warn();
}

void Module::runPipeline(const std::string &pipeline) {
  run([&](OpPassManager &pm, std::string &problem) {
    problem = "pipeline '" + pipeline + "': ";
    llvm::raw_string_ostream os(problem);
    return parsePassPipeline(pipeline, pm, os);
  });
}

void Module::autocast(const AutocastPipelineOptions &options) {
  run([&](OpPassManager &pm, std::string &) {
    buildAutocastPipeline(pm, options);
    return success();
  });
}

void Module::save(const std::string &path, int64_t opset,
                  uint64_t externalDataThreshold) const {
  llvm::StringRef kind = llvm::sys::path::extension(path);
  if (kind == ".onnx") {
    Diagnostics diagnostics(context.get());
    diagnostics.check(exportOnnx(get(), path, {opset, externalDataThreshold}),
                      "cannot write '" + path + "'");
    return diagnostics.warn();
  }
  if (kind == ".mlir")
    return python::check(writeTextFile(path, getText(std::nullopt, false)));
  if (kind != ".mlirbc")
    throw Error("'" + path +
                "': the name of a model ends in .onnx, .mlir or "
                ".mlirbc");
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(writeBytecodeToFile(get(), os)))
    throw Error("'" + path + "': the module has no bytecode");
  python::check(writeTextFile(path, os.str()));
}

std::shared_ptr<Module> Module::clone() const {
  return std::make_shared<Module>(context, OwningOpRef(get().clone()), source);
}

//===----------------------------------------------------------------------===//
// Python
//===----------------------------------------------------------------------===//

/// Name, dtype, shape and role of what a function takes or returns.
static nb::dict describe(DictionaryAttr facts, Type type) {
  auto text = [&](StringRef key) -> nb::object {
    auto value = facts ? facts.getAs<StringAttr>(key) : StringAttr();
    return value ? nb::cast(value.getValue().str()) : nb::none();
  };
  nb::dict entry;
  entry["name"] = text(amp::onnx::OnnxDialect::getNameAttrName());
  entry["dtype"] = getDtype(type);
  entry["shape"] = getShape(type);
  entry["role"] = text(amp::train::TrainDialect::getRoleAttrName());
  return entry;
}

static nb::list getInputs(const Module &module) {
  func::FuncOp function = module.getFunction();
  nb::list inputs;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    inputs.append(describe(function.getArgAttrDict(index), type));
  return inputs;
}

static nb::list getOutputs(const Module &module) {
  func::FuncOp function = module.getFunction();
  nb::list outputs;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    outputs.append(describe(function.getResultAttrDict(index), type));
  return outputs;
}

using Texts = std::vector<std::string>;

static void autocast(Module &module, const std::string &dtype,
                     const std::string &policy, const Texts &allow,
                     const Texts &deny, const Texts &pin, const Texts &pinSlot,
                     bool keepIOTypes, const std::string &lossyConstants,
                     const std::string &decisions,
                     const std::string &saveDecisions,
                     const std::string &report) {
  amp::AutocastPipelineOptions options;
  options.dtype = dtype;
  options.policy = policy;
  options.allow = ArrayRef(allow);
  options.deny = ArrayRef(deny);
  options.pin = ArrayRef(pin);
  options.pinSlot = ArrayRef(pinSlot);
  options.keepIOTypes = keepIOTypes;
  options.lossyConstants = lossyConstants;
  options.decisions = decisions;
  options.saveDecisions = saveDecisions;
  options.report = report;
  module.autocast(options);
}

void amp::python::bindModule(nb::module_ &module) {
  nb::class_<Module>(module, "Module",
                     "A model: one graph of `onnx` operations.")
      .def_static("load", &Module::load, nb::arg("path"),
                  "Reads a .onnx or .mlir file; its content tells which it is. "
                  "Raises Error.")
      .def_static("parse", &Module::parse, nb::arg("text"),
                  "Parses MLIR text. Raises Error.")
      .def("text", &Module::getText, nb::arg("elide_over") = 64,
           nb::arg("locations") = false,
           "The module as MLIR text. Tensors of more elements than "
           "`elide_over` are left out (None: none is).")
      .def("run_pipeline", &Module::runPipeline, nb::arg("pipeline"),
           "Runs passes, as `amp-opt --pass-pipeline` names them: "
           "\"autocast{dtype=f16},canonicalize\". Changes the module. Raises "
           "Error with what the passes said.")
      .def("autocast", &autocast, nb::kw_only(), nb::arg("dtype") = "f16",
           nb::arg("policy") = "balanced", nb::arg("allow") = Texts(),
           nb::arg("deny") = Texts(), nb::arg("pin") = Texts(),
           nb::arg("pin_slot") = Texts(), nb::arg("keep_io_types") = true,
           nb::arg("lossy_constants") = "", nb::arg("decisions") = "",
           nb::arg("save_decisions") = "", nb::arg("report") = "",
           "Runs the autocast passes, whose options these are. Changes the "
           "module. Raises Error.")
      .def("save", &Module::save, nb::arg("path"), nb::kw_only(),
           nb::arg("opset") = 0, nb::arg("external_data_threshold") = 0,
           "Writes .onnx, .mlir or .mlirbc. The file appears whole or not at "
           "all. `opset` 0: the lowest that fits. Raises Error.")
      .def("clone", &Module::clone, "A copy that passes can change.")
      .def_prop_ro("source", &Module::getSource,
                   "The file it came from, or the name it was given.")
      .def_prop_ro("inputs", &getInputs,
                   "A dict for each input: name, dtype, shape, role.")
      .def_prop_ro("outputs", &getOutputs,
                   "A dict for each output: name, dtype, shape, role.")
      .def("__str__",
           [](const Module &module) { return module.getText(64, false); })
      .def("__repr__", [](const Module &module) {
        return "<amp_mlir.Module of '" + module.getSource() + "'>";
      });
}
