//===- GraphBuilder.h - Graphs of onnx operations from Python ---*- C++ -*-===//
//
// What the tracer writes graphs with: operators by name, types inferred,
// autocast regions.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_GRAPHBUILDER_H
#define AMP_PYTHON_SRC_GRAPHBUILDER_H

#include "Module.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/Inference/TypeInference.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include <nanobind/nanobind.h>
#include <optional>

namespace amp::python {

class GraphBuilder;

/// A value of a graph that is being built. It may move: what a region makes is
/// a result of the region once that is closed. Its type and name can be asked
/// for when the graph is finished, too.
struct GraphValue {
  std::shared_ptr<GraphBuilder> builder;
  mlir::Value value;
  mlir::Type type;
  std::string name;
};
using GraphValuePtr = std::shared_ptr<GraphValue>;

/// Builds one function. Every method throws Error, and names what it is about.
class GraphBuilder : public std::enable_shared_from_this<GraphBuilder> {
public:
  GraphBuilder(const std::string &name, std::optional<int64_t> opset);
  ~GraphBuilder();

  GraphValuePtr addInput(const std::string &name, const std::string &dtype,
                         nanobind::sequence shape, const std::string &role,
                         nanobind::object init);
  GraphValuePtr addInitializer(const std::string &name, nanobind::handle array,
                               nanobind::object dtype, nanobind::object shape);
  std::vector<GraphValuePtr>
  addOp(const std::string &type, nanobind::sequence inputs,
        nanobind::dict attributes, unsigned numOutputs, const std::string &name,
        nanobind::object loc, nanobind::object outputNames);
  void addOutput(const GraphValue &value, const std::string &name,
                 const std::string &role,
                 const std::optional<std::string> &alias);
  void openRegion(bool enabled, const std::optional<std::string> &dtype,
                  const std::optional<std::string> &policy);
  void closeRegion();
  std::shared_ptr<Module> finish();

private:
  struct Output {
    mlir::Value value;
    std::string name;
    train::Role role;
    /// The argument that it is written over.
    std::optional<unsigned> alias;
  };

  void checkOpen() const;
  void takeName(llvm::StringRef name, llvm::StringRef what);
  GraphValuePtr makeHandle(mlir::Value value);
  mlir::Location getLocation(const std::string &name, nanobind::object loc);
  mlir::Operation *createOp(const onnx::OpSpec &spec,
                            llvm::ArrayRef<mlir::Value> inputs,
                            nanobind::dict attributes, unsigned numOutputs,
                            mlir::Location location);
  void checkOp(mlir::Operation *op);
  void pruneRegions(mlir::Block &block);
  unsigned findAliased(const GraphValue &value, llvm::StringRef name);
  mlir::DictionaryAttr getFacts(const Output &output);
  void buildModelOp();

  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::Operation *lastInitializer = nullptr;
  std::optional<int64_t> opset;
  std::unique_ptr<onnx::TypeInference> inference;
  /// What the function and each open region have made so far: handles that
  /// someone still has.
  llvm::SmallVector<std::vector<std::weak_ptr<GraphValue>>> scopes;
  llvm::SmallVector<amp::AutocastOp> regions;
  std::vector<Output> outputs;
  llvm::StringSet<> names;
  /// Operations that did not verify: inference remembers their values.
  std::vector<mlir::Operation *> discarded;
};

/// Adds GraphBuilder and Value to the extension module.
void bindGraphBuilder(nanobind::module_ &module);

} // namespace amp::python

#endif // AMP_PYTHON_SRC_GRAPHBUILDER_H
