//===- Tensors.cpp - Tensors whose data stays in the file -----------------===//
//
// Small tensors are copied into attributes that folders see; the others become
// resources over the mapping.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace amp::importer;
using ::onnx::TensorProto;

/// Tensors up to this size are copied (docs/rationale/onnx.md).
static constexpr uint64_t maxCopiedBytes = 1024;

/// A serialized tensor, taken apart. `skeleton` has the fields that protobuf
/// reads; `raw` data in raw layout, in place.
struct TensorReader::Parts {
  std::string skeleton;
  std::optional<StringRef> raw;
  /// `float_data` or `double_data`, which have the raw layout when they come in
  /// one packed chunk.
  std::optional<WireField> packed;
};

/// Whether a field of packed numbers of this tensor has the layout of raw data.
static bool isRawLayout(uint32_t field, int32_t dataType) {
  if (field == 4)
    return dataType == TensorProto::FLOAT || dataType == TensorProto::COMPLEX64;
  return dataType == TensorProto::DOUBLE || dataType == TensorProto::COMPLEX128;
}

llvm::Error TensorReader::split(StringRef bytes, TensorNotes &notes,
                                Parts &parts) {
  WireReader reader(bytes);
  WireField field;
  auto keep = [&](const WireField &field) {
    parts.skeleton.append(field.whole.begin(), field.whole.end());
  };
  SmallVector<WireField, 1> numbers;
  while (reader.next(field)) {
    if (field.isBytes(9)) {
      parts.raw = field.bytes;
    } else if (field.number == 4 || field.number == 10) {
      numbers.push_back(field);
    } else if (field.isBytes(12)) {
      notes.docString = field.bytes;
    } else if (field.number > 14) {
      notes.verbatim.append(field.whole.begin(), field.whole.end());
    } else {
      keep(field);
      if (field.isBytes(8))
        notes.name = field.bytes;
    }
  }
  if (numbers.size() == 1 && numbers.front().type == WireType::Bytes)
    parts.packed = numbers.front();
  else
    llvm::for_each(numbers, keep);
  return reader.takeError("TensorProto");
}

bool TensorReader::isInModel(StringRef bytes) const {
  return bytes.begin() >= buffer->getBufferStart() &&
         bytes.end() <= buffer->getBufferEnd();
}

llvm::Expected<ElementsAttr>
TensorReader::makeAttribute(const TensorProto &proto, MappedBytes data) {
  llvm::Expected<RankedTensorType> type =
      proto::importTensorType(proto, context);
  if (!type)
    return type.takeError();
  std::optional<uint64_t> size = proto::getRawSize(*type);
  // The other cases are importTensor's: small data, errors, and copies of what
  // no mapping holds.
  if (!size || *size != data.bytes.size() || *size <= maxCopiedBytes ||
      !data.owner || proto.has_segment())
    return proto::importTensor(proto, context, data.bytes);
  auto blob = UnmanagedAsmResourceBlob::allocateWithAlign(
      data.bytes, /*align=*/1, [owner = data.owner](void *, size_t, size_t) {});
  StringRef key =
      proto.name().empty() ? StringRef("data") : StringRef(proto.name());
  return DenseResourceElementsAttr::get(*type, key, std::move(blob));
}

/// An error that names the tensor, as importTensor's do.
static llvm::Error makeError(const TensorProto &proto,
                             const llvm::Twine &text) {
  if (proto.name().empty())
    return llvm::createStringError("unnamed tensor: " + text);
  return llvm::createStringError("tensor '" + proto.name() + "': " + text);
}

llvm::Expected<ElementsAttr> TensorReader::read(StringRef bytes,
                                                TensorNotes &notes) {
  Parts parts;
  if (llvm::Error error = split(bytes, notes, parts))
    return std::move(error);
  TensorProto proto;
  if (parts.skeleton.size() > INT32_MAX ||
      !proto.ParsePartialFromString(parts.skeleton))
    return llvm::createStringError("malformed TensorProto");
  if (proto.data_location() == TensorProto::EXTERNAL) {
    llvm::Expected<RankedTensorType> type =
        proto::importTensorType(proto, context);
    if (!type)
      return type.takeError();
    std::optional<uint64_t> size = proto::getRawSize(*type);
    if (!size)
      return makeError(proto, "its type can't have external data");
    llvm::Expected<MappedBytes> data = files.read(proto, *size);
    if (!data)
      return makeError(proto, llvm::toString(data.takeError()));
    return makeAttribute(proto, std::move(*data));
  }
  std::optional<StringRef> data = parts.raw;
  if (!data && parts.packed &&
      isRawLayout(parts.packed->number, proto.data_type()))
    data = parts.packed->bytes;
  else if (!data && parts.packed)
    return makeError(
        proto, "its data is in a field that does not go with its element type");
  if (!data)
    return proto::importTensor(proto, context);
  auto owner = isInModel(*data) ? buffer : nullptr;
  return makeAttribute(
      proto, MappedBytes{llvm::ArrayRef<char>(data->data(), data->size()),
                         std::move(owner)});
}
