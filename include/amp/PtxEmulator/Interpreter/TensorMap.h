//===- TensorMap.h - Descriptors of tensors for bulk copies -----*- C++ -*-===//
// What cuTensorMapEncodeTiled writes into 128 bytes: a layout of our own, which
// cp.async.bulk.tensor reads back.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_INTERPRETER_TENSORMAP_H
#define AMP_PTXEMULATOR_INTERPRETER_TENSORMAP_H

#include <cstdint>
#include <string>

namespace amp::ptx {

constexpr unsigned maxTensorRank = 5;
constexpr unsigned tensorMapBytes = 128;

/// Codes are the driver's: CUtensorMapDataType, ...Swizzle, ...FloatOOBfill.
struct TensorMap {
  uint64_t base = 0;
  uint32_t rank = 0;
  uint32_t dataType = 0;
  uint32_t swizzle = 0; ///< 0 none, 1 to 3: 32, 64, 128 bytes
  bool fillsNaN = false;
  /// Innermost first; strides in bytes, the innermost being the element.
  uint64_t sizes[maxTensorRank] = {};
  uint64_t strides[maxTensorRank] = {};
  uint32_t box[maxTensorRank] = {};
  uint32_t elementStrides[maxTensorRank] = {};

  uint32_t getElementBytes() const;
  bool isFloat() const;
  /// Empty if the driver would take it, else what is wrong.
  std::string check() const;
  void encode(void *bytes) const;
  /// False if the bytes hold no map that `encode` wrote.
  bool decode(const void *bytes);
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_INTERPRETER_TENSORMAP_H
