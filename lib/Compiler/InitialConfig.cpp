//===- InitialConfig.cpp - A train.json to start from ---------------------===//
//
// Names what the model has; everything else is the usual choice.
//
//===----------------------------------------------------------------------===//

#include "amp/Compiler/Compiler.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "amp/Frontend/ReadModel.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace amp;

namespace {

/// Longer lists of names are cut.
constexpr size_t maxListed = 24;

std::string quote(StringRef text) {
  std::string result;
  llvm::raw_string_ostream(result) << llvm::json::Value(text);
  return result;
}

std::string describe(StringRef name, Type type) {
  std::string text = name.str();
  llvm::raw_string_ostream os(text);
  os << ": ";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    os << type;
    return text;
  }
  auto dims = dyn_cast_or_null<onnx::DimsAttr>(tensor.getEncoding());
  for (auto [axis, size] : llvm::enumerate(tensor.getShape()))
    if (!ShapedType::isDynamic(size))
      os << size << 'x';
    else
      os << (dims && !dims.getName(axis).empty() ? dims.getName(axis) : "?")
         << 'x';
  os << tensor.getElementType();
  return text;
}

class ConfigPrinter {
public:
  ConfigPrinter(func::FuncOp function, llvm::raw_ostream &os)
      : function(function), os(os) {}

  void print(StringRef model);

private:
  void printNames(StringRef title, ArrayRef<std::string> names);
  void collect();
  StringRef getResultName(unsigned index) {
    auto name = function.getResultAttrOfType<StringAttr>(
        index, onnx::OnnxDialect::getNameAttrName());
    return name ? name.getValue() : "";
  }

  func::FuncOp function;
  llvm::raw_ostream &os;
  std::vector<std::string> inputs, outputs, parameters, buffers;
};

} // namespace

void ConfigPrinter::printNames(StringRef title, ArrayRef<std::string> names) {
  if (names.empty())
    return;
  os << "// " << title << ":\n";
  for (const std::string &name : names.take_front(maxListed))
    os << "//   " << name << '\n';
  if (names.size() > maxListed)
    os << "//   ... and " << names.size() - maxListed << " more\n";
}

void ConfigPrinter::collect() {
  for (BlockArgument argument : function.getArguments()) {
    std::optional<train::Role> role =
        train::getArgumentRole(function, argument.getArgNumber());
    auto &list = role == train::Role::Parameter ? parameters
                 : role == train::Role::Buffer  ? buffers
                                                : inputs;
    list.push_back(describe(onnx::getValueName(argument), argument.getType()));
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (!function.getResultAttr(index, train::TrainDialect::getAliasAttrName()))
      outputs.push_back(describe(getResultName(index), type));
}

void ConfigPrinter::print(StringRef model) {
  collect();
  StringRef output = function.getNumResults() ? getResultName(0) : "logits";
  os << "// How to train " << model << ". Lines that begin with // are "
     << "comments.\n";
  printNames("Inputs", inputs);
  printNames("Outputs", outputs);
  printNames("Parameters (trained unless 'frozen' matches)", parameters);
  printNames("Running statistics", buffers);
  os << "{\n"
        "  // Also: mse, l1, huber, bce_with_logits; or an output that is the "
        "loss\n"
        "  // itself: \"loss\": \"name\".\n"
        "  \"loss\": {\"softmax_cross_entropy\": {\"logits\": "
     << quote(output)
     << ", \"labels\": \"labels\"}},\n"
        "  // Half precision: \"f16\" (with loss scaling) or \"bf16\". "
        "Without this key all is float32.\n"
        "  \"autocast\": {\"dtype\": \"bf16\", \"policy\": \"balanced\"},\n"
        "  // Also: adam, adamw, lion, lamb.\n"
        "  \"optimizer\": {\"sgd\": {\"lr\": 0.01, \"momentum\": 0.9}},\n"
        "  // Keys as PyTorch's GradScaler has them; on for f16 unless it is "
        "said otherwise.\n"
        "  \"loss_scale\": {\"init_scale\": 65536.0, \"growth_interval\": "
        "2000},\n"
        "  // Gradients are scaled down to this norm.\n"
        "  \"clip\": {\"norm\": 1.0},\n"
        "  // Micro batches to one update.\n"
        "  \"accumulate\": 1\n"
        "}\n";
}

LogicalResult amp::printInitialConfig(StringRef path, llvm::raw_ostream &os,
                                      MLIRContext &context) {
  ModelReader reader(context);
  OwningOpRef<ModuleOp> model = reader.read(path);
  if (!model)
    return failure();
  PassManager pm(&context, ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  pm.addNestedPass<func::FuncOp>(train::createLiftParametersPass());
  if (failed(pm.run(*model)))
    return failure();
  for (func::FuncOp function : model->getOps<func::FuncOp>()) {
    ConfigPrinter(function, os).print(path);
    return success();
  }
  llvm::errs() << path << ": error: there is no graph in it\n";
  return failure();
}
