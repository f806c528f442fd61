//===- Tensors.cpp - Tensors between protobuf and IR ----------------------===//
//
// Small tensors become DenseElementsAttr so that folders see them, others a
// resource in ONNX's raw layout.
//
//===----------------------------------------------------------------------===//

#include "TensorFields.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace amp::onnx;
using ::onnx::TensorProto;

/// Payloads up to this size are kept where folders see them.
static constexpr uint64_t maxDenseBytes = 1024;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Number of elements, with overflow looked for even where a zero dimension
/// hides it: MLIR multiplies all of them.
static std::optional<uint64_t> countElements(ArrayRef<int64_t> shape) {
  uint64_t product = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    if (size == 0)
      empty = true;
    else if (product > uint64_t(INT64_MAX) / uint64_t(size))
      return std::nullopt;
    else
      product *= size;
  }
  return empty ? 0 : product;
}

std::optional<uint64_t> amp::proto::getRawSize(ShapedType type) {
  unsigned bits = getElementBits(type.getElementType());
  if (bits == 0 || !type.hasRank())
    return std::nullopt;
  std::optional<uint64_t> count = countElements(type.getShape());
  if (!count || *count > uint64_t(INT64_MAX - 7) / bits)
    return std::nullopt;
  return llvm::divideCeil(*count * bits, 8);
}

llvm::Expected<RankedTensorType>
amp::proto::importTensorType(const TensorProto &proto, MLIRContext *context) {
  Type elementType = importElementType(proto.data_type(), context);
  if (!elementType)
    return makeTensorError(proto,
                           "unknown element type " + Twine(proto.data_type()));
  ArrayRef<int64_t> shape(proto.dims().data(), proto.dims().size());
  for (auto [index, size] : llvm::enumerate(shape))
    if (size < 0)
      return makeTensorError(proto, "dimension " + Twine(index) +
                                        " is negative (" + Twine(size) + ")");
  auto type = RankedTensorType::get(shape, elementType);
  bool fits = isa<StringType>(elementType) ? countElements(shape).has_value()
                                           : getRawSize(type).has_value();
  if (!fits)
    return makeTensorError(
        proto, "the product of its dimensions does not fit in 63 bits");
  return type;
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

static llvm::Expected<ElementsAttr> importStrings(const TensorProto &proto,
                                                  RankedTensorType type) {
  if (int64_t(proto.string_data_size()) != type.getNumElements())
    return amp::proto::makeTensorError(
        proto, "expected " + Twine(type.getNumElements()) +
                   " strings for its shape, but 'string_data' holds " +
                   Twine(proto.string_data_size()));
  SmallVector<StringRef> strings(proto.string_data().begin(),
                                 proto.string_data().end());
  return DenseStringElementsAttr::get(type, strings);
}

/// A resource key that does not depend on what was imported before: the
/// tensor's name or, for unnamed ones, their data.
static std::string getResourceKey(const TensorProto &proto,
                                  ArrayRef<char> raw) {
  if (!proto.name().empty())
    return proto.name();
  return "data_" +
         llvm::utohexstr(
             llvm::xxh3_64bits(ArrayRef(
                 reinterpret_cast<const uint8_t *>(raw.data()), raw.size())),
             /*LowerCase=*/true);
}

/// The attribute of small data of a type that DenseElementsAttr keeps bit by
/// bit; null for other data.
static ElementsAttr importDense(RankedTensorType type, ArrayRef<char> raw) {
  Type elementType = type.getElementType();
  if (raw.size() > maxDenseBytes || !elementType.isIntOrFloat())
    return {};
  if (elementType.isInteger(1)) {
    // Bytes other than 0 and 1 occur in files and would not survive.
    if (!llvm::all_of(raw, [](char byte) { return byte == 0 || byte == 1; }))
      return {};
    SmallVector<bool> values(raw.begin(), raw.end());
    return DenseElementsAttr::get(type, values);
  }
  if (elementType.getIntOrFloatBitWidth() < 8)
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, raw);
}

llvm::Expected<ElementsAttr>
amp::proto::importTensor(const TensorProto &proto, MLIRContext *context,
                         std::optional<ArrayRef<char>> raw) {
  llvm::Expected<RankedTensorType> type = importTensorType(proto, context);
  if (!type)
    return type.takeError();
  if (proto.has_segment())
    return makeTensorError(proto,
                           "is stored in segments, which is not supported");
  if (isa<StringType>(type->getElementType())) {
    if (raw || proto.has_raw_data())
      return makeTensorError(proto, "is of strings and can't have raw data");
    return importStrings(proto, *type);
  }
  SmallVector<char> buffer;
  if (!raw && proto.has_raw_data()) {
    raw = ArrayRef<char>(proto.raw_data().data(), proto.raw_data().size());
  } else if (!raw) {
    if (proto.data_location() == TensorProto::EXTERNAL)
      return makeTensorError(
          proto, "has its data in another file, which is not read here");
    if (llvm::Error error = packTypedData(proto, *type, buffer))
      return std::move(error);
    raw = buffer;
  }
  uint64_t expected = *getRawSize(*type);
  if (raw->size() != expected)
    return makeTensorError(proto, "expected " + Twine(expected) +
                                      " bytes of data for its shape, but got " +
                                      Twine(raw->size()));
  if (ElementsAttr dense = importDense(*type, *raw))
    return dense;
  return DenseResourceElementsAttr::get(
      *type, getResourceKey(proto, *raw),
      HeapAsmResourceBlob::allocateAndCopyWithAlign(*raw, /*align=*/16,
                                                    /*dataIsMutable=*/false));
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

/// Packs values of `bits` < 8 bits, one per entry, first value lowest.
template <typename Range>
static void packBits(Range values, unsigned bits,
                     SmallVectorImpl<char> &buffer) {
  unsigned perByte = 8 / bits;
  size_t index = 0;
  for (const APInt &value : values) {
    if (index % perByte == 0)
      buffer.push_back(0);
    buffer.back() |= char(value.getZExtValue() << (index++ % perByte * bits));
  }
}

/// Raw data of a DenseElementsAttr whose own layout differs: bools are packed
/// there, splats hold one element and sub-byte elements take a byte each.
static void unpackDense(DenseElementsAttr dense, unsigned bits,
                        SmallVectorImpl<char> &buffer) {
  Type elementType = dense.getElementType();
  if (elementType.isInteger(1)) {
    llvm::append_range(buffer,
                       llvm::map_range(dense.getValues<bool>(),
                                       [](bool value) { return char(value); }));
  } else if (bits < 8) {
    if (isa<IntegerType>(elementType))
      return packBits(dense.getValues<APInt>(), bits, buffer);
    packBits(llvm::map_range(
                 dense.getValues<APFloat>(),
                 [](const APFloat &value) { return value.bitcastToAPInt(); }),
             bits, buffer);
  } else {
    ArrayRef<char> element = dense.getRawData();
    buffer.reserve(element.size() * dense.getNumElements());
    for (int64_t i = 0, e = dense.getNumElements(); i < e; ++i)
      buffer.append(element.begin(), element.end());
  }
}

ArrayRef<char> amp::proto::getRawData(ElementsAttr value,
                                      SmallVectorImpl<char> &buffer) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : ArrayRef<char>();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  unsigned bits = dense ? getElementBits(dense.getElementType()) : 0;
  if (bits == 0)
    return {};
  bool isBool = dense.getElementType().isInteger(1);
  if (!isBool && bits >= 8 && (!dense.isSplat() || dense.getNumElements() == 1))
    return dense.getRawData();
  buffer.clear();
  unpackDense(dense, bits, buffer);
  return ArrayRef<char>(buffer.data(), buffer.size());
}

void amp::proto::exportTensor(ElementsAttr value, TensorProto &proto) {
  ShapedType type = value.getShapedType();
  proto.set_data_type(exportElementType(type.getElementType()));
  for (int64_t size : type.getShape())
    proto.add_dims(size);
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value)) {
    for (StringRef string : strings.getValues<StringRef>())
      proto.add_string_data(string.str());
    return;
  }
  SmallVector<char> buffer;
  ArrayRef<char> raw = getRawData(value, buffer);
  proto.set_raw_data(raw.data(), raw.size());
}
