//===- NodeNames.cpp - How often node names are used ----------------------===//
//
// One walk over all nodes.
//
//===----------------------------------------------------------------------===//

#include "NodeNames.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"

using namespace mlir;

llvm::StringMap<unsigned> amp::countNodeNames(Operation *root) {
  llvm::StringMap<unsigned> counts;
  root->walk([&](Operation *op) {
    StringRef name = onnx::getNodeName(op);
    if (!name.empty())
      ++counts[name];
  });
  return counts;
}
