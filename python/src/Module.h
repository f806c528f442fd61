//===- Module.h - A model as Python holds it --------------------*- C++ -*-===//
//
// Text, passes, files.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_MODULE_H
#define AMP_PYTHON_SRC_MODULE_H

#include "Context.h"
#include "amp/Pipelines/Autocast.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <nanobind/nanobind.h>
#include <optional>

namespace amp::python {

/// A module with the context it is in.
class Module {
public:
  Module(std::shared_ptr<mlir::MLIRContext> context,
         mlir::OwningOpRef<mlir::ModuleOp> module, std::string source)
      : context(std::move(context)), module(std::move(module)),
        source(std::move(source)) {}

  /// Reads a .onnx or .mlir file.
  static std::shared_ptr<Module> load(const std::string &path);
  /// Parses MLIR text.
  static std::shared_ptr<Module> parse(const std::string &text);

  mlir::MLIRContext *getContext() const { return context.get(); }
  mlir::ModuleOp get() const {
    return const_cast<Module *>(this)->module.get();
  }
  /// The file it came from, or the name it was given.
  const std::string &getSource() const { return source; }
  mlir::func::FuncOp getFunction() const;

  /// Resources of more bytes than `elideOver` are left out of the text.
  std::string getText(std::optional<int64_t> elideOver, bool locations) const;
  void runPipeline(const std::string &pipeline);
  /// Runs the autocast passes.
  void autocast(const AutocastPipelineOptions &options);
  void save(const std::string &path, int64_t opset,
            uint64_t externalDataThreshold) const;
  std::shared_ptr<Module> clone() const;

private:
  void run(llvm::function_ref<mlir::LogicalResult(mlir::OpPassManager &,
                                                  std::string &)>
               fill);

  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string source;
};

/// Adds Module to the extension module.
void bindModule(nanobind::module_ &module);

} // namespace amp::python

#endif // AMP_PYTHON_SRC_MODULE_H
