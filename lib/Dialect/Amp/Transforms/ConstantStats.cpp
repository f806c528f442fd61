//===- ConstantStats.cpp - What narrowing does to a constant --------------===//
//
// Counts over the elements of a constant, wherever they are stored.
//
//===----------------------------------------------------------------------===//

#include "ConstantStats.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace amp;

NarrowingStats amp::countNarrowing(Value constant, HalfFormat format) {
  if (ElementsAttr elements = onnx::getConstantValue(constant)) {
    if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
      ArrayRef<char> raw = dense.getRawData();
      NarrowingStats stats = countNarrowing(raw.data(), raw.size() / 4, format);
      uint64_t copies = dense.isSplat() ? dense.getNumElements() : 1;
      stats.overflows *= copies;
      stats.flushes *= copies;
      return stats;
    }
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements))
      if (AsmResourceBlob *blob = resource.getRawHandle().getBlob()) {
        ArrayRef<char> raw = blob->getData();
        uint64_t size =
            std::min<uint64_t>(resource.getNumElements(), raw.size() / 4);
        return countNarrowing(raw.data(), size, format);
      }
    return {};
  }
  auto op = constant.getDefiningOp<onnx::ConstantOp>();
  if (!op)
    return {};
  if (FloatAttr single = op.getValueFloatAttr())
    return countNarrowing(ArrayRef<float>(single.getValue().convertToFloat()),
                          format);
  if (DenseF32ArrayAttr list = op.getValueFloatsAttr())
    return countNarrowing(list.asArrayRef(), format);
  return {};
}
