//===- amp-lsp-server.cpp - Language server for model graphs --------------===//
//
// mlir-lsp-server that knows the dialects: errors, types and definitions in an
// editor.
//
//===----------------------------------------------------------------------===//

#include "amp/InitAllDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  amp::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
