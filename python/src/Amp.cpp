//===- Amp.cpp - The extension module amp_mlir._amp -----------------------===//
//
// Graphs, passes and the compiler; running is in amp_mlir._runtime.
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "GraphBuilder.h"
#include "Module.h"

namespace nb = nanobind;
using namespace amp::python;

NB_MODULE(_amp, module) {
  module.doc() = "Graphs, passes and the compiler of amp-mlir.";
  module.attr("__version__") = AMP_VERSION;
  nb::exception<Error>(
      module, "CompileError",
      nb::module_::import_("amp_mlir.errors").attr("Error").ptr());
  bindModule(module);
  bindCompile(module);
  bindGraphBuilder(module);
}
