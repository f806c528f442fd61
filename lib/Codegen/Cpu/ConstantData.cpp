//===- ConstantData.cpp - The bytes of constants --------------------------===//
//
// Elements as kernels find them in memory.
//
//===----------------------------------------------------------------------===//

#include "ConstantData.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

LogicalResult amp::cpu::getElementBytes(ElementsAttr data,
                                        SmallVectorImpl<char> &bytes) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(data)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return failure();
    llvm::append_range(bytes, blob->getData());
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(data);
  if (!dense || !dense.getElementType().isIntOrFloat())
    return failure();
  // Bools may be packed.
  if (dense.getElementType().isInteger(1)) {
    for (bool element : dense.getValues<bool>())
      bytes.push_back(element);
    return success();
  }
  int64_t copies = dense.isSplat() ? dense.getNumElements() : 1;
  for (int64_t i = 0; i < copies; ++i)
    llvm::append_range(bytes, dense.getRawData());
  return success();
}
