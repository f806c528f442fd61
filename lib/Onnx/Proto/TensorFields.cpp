//===- TensorFields.cpp - Tensor data from a proto's typed fields ---------===//
//
// Narrows what protobuf keeps in wide varint fields to ONNX's raw little-endian
// layout, bit by bit.
//
//===----------------------------------------------------------------------===//

#include "TensorFields.h"
#include "amp/Onnx/Proto/Proto.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using ::onnx::TensorProto;

namespace {

/// Appends the low `bytes` bytes of each integer of `field`.
template <typename Field>
void appendIntegers(const Field &field, unsigned bytes,
                    SmallVectorImpl<char> &raw) {
  raw.reserve(field.size() * bytes);
  for (auto value : field) {
    char buffer[sizeof(uint64_t)];
    llvm::support::endian::write64le(buffer, uint64_t(value));
    raw.append(buffer, buffer + bytes);
  }
}

/// Appends the bits of each float or double of `field`.
template <typename Bits, typename Field>
void appendFloats(const Field &field, SmallVectorImpl<char> &raw) {
  raw.reserve(field.size() * sizeof(Bits));
  for (auto value : field) {
    char buffer[sizeof(Bits)];
    llvm::support::endian::write<Bits, llvm::endianness::little>(
        buffer, llvm::bit_cast<Bits>(value));
    raw.append(buffer, buffer + sizeof(Bits));
  }
}

} // namespace

llvm::Error amp::proto::makeTensorError(const TensorProto &proto,
                                        const Twine &message) {
  std::string prefix = proto.name().empty() ? "unnamed tensor: "
                                            : "tensor '" + proto.name() + "': ";
  return llvm::createStringError(prefix + message);
}

llvm::Error amp::proto::packTypedData(const TensorProto &proto,
                                      RankedTensorType type,
                                      SmallVectorImpl<char> &raw) {
  StringRef field = "int32_data";
  switch (proto.data_type()) {
  case TensorProto::FLOAT:
  case TensorProto::COMPLEX64:
    field = "float_data";
    appendFloats<uint32_t>(proto.float_data(), raw);
    break;
  case TensorProto::DOUBLE:
  case TensorProto::COMPLEX128:
    field = "double_data";
    appendFloats<uint64_t>(proto.double_data(), raw);
    break;
  case TensorProto::INT64:
    field = "int64_data";
    appendIntegers(proto.int64_data(), 8, raw);
    break;
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    field = "uint64_data";
    appendIntegers(proto.uint64_data(),
                   proto.data_type() == TensorProto::UINT32 ? 4 : 8, raw);
    break;
  default:
    // One element an entry; a packed byte for types of less than 8 bits.
    appendIntegers(proto.int32_data(),
                   std::max(1u, getElementBits(type.getElementType()) / 8),
                   raw);
    break;
  }
  uint64_t expected = *getRawSize(type);
  if (raw.size() == expected)
    return llvm::Error::success();
  return makeTensorError(proto, "expected " + Twine(expected) +
                                    " bytes of data for its shape, but '" +
                                    field + "' holds " + Twine(raw.size()) +
                                    " bytes");
}
