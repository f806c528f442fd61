//===- WireReader.h - Protobuf's wire format, checked ---------------------===//
//
// Walks the fields of one serialized message in place, without a schema.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_FRONTEND_ONNX_WIREREADER_H
#define AMP_LIB_FRONTEND_ONNX_WIREREADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace amp::importer {

enum class WireType : uint8_t {
  Varint = 0,
  Fixed64 = 1,
  Bytes = 2,
  Fixed32 = 5
};

/// One field; all parts point into the message.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::Varint;
  /// Payload of the types that are not `Bytes`.
  uint64_t value = 0;
  /// Payload of `Bytes`.
  llvm::StringRef bytes;
  /// The field with its tag.
  llvm::StringRef whole;

  bool isBytes(uint32_t wanted) const {
    return number == wanted && type == WireType::Bytes;
  }
  bool isVarint(uint32_t wanted) const {
    return number == wanted && type == WireType::Varint;
  }
};

/// Reads field after field and never past the message's end:
///   while (reader.next(field)) ...
///   if (llvm::Error error = reader.takeError("GraphProto")) ...
class WireReader {
public:
  explicit WireReader(llvm::StringRef message)
      : begin(message.begin()), position(message.begin()), end(message.end()) {}

  /// The next field; false at the end and on malformed input.
  bool next(WireField &field);

  /// Text of what is malformed, or null.
  const char *getProblem() const { return problem; }

  /// What was malformed in this message of kind `message`, if anything.
  llvm::Error takeError(llvm::StringRef message) const;

private:
  bool fail(const char *text);
  bool readVarint(uint64_t &value);
  bool readFixed(unsigned size, uint64_t &value);

  const char *begin, *position, *end;
  const char *problem = nullptr;
};

} // namespace amp::importer

#endif // AMP_LIB_FRONTEND_ONNX_WIREREADER_H
