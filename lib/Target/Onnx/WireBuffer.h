//===- WireBuffer.h - Serialized messages in pieces -------------*- C++ -*-===//
// Builds protobuf messages out of literal bytes and references to tensor data,
// so that sizes are known before anything is written and data is not copied.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_WIREBUFFER_H
#define AMP_LIB_TARGET_ONNX_WIREBUFFER_H

#include "amp/Support/AtomicFile.h"
#include "amp/Support/HalfConversion.h"
#include "llvm/Support/Allocator.h"
#include <google/protobuf/message_lite.h>
#include <optional>
#include <vector>

namespace amp::onnx_export {

/// Tensor data as it is to be written.
struct Payload {
  /// Bytes somewhere that outlives the export.
  llvm::ArrayRef<char> source;
  /// When set, `source` holds float32 values that are narrowed on their way
  /// out.
  std::optional<HalfFormat> narrow = std::nullopt;
  HalfRange range = HalfRange::Round;

  /// Bytes written.
  uint64_t size() const { return narrow ? source.size() / 2 : source.size(); }
};

/// One serialized message (or part of one).
class WireBuffer {
public:
  explicit WireBuffer(llvm::BumpPtrAllocator &arena) : arena(&arena) {}

  uint64_t size() const { return total; }
  llvm::ArrayRef<Payload> getPieces() const { return pieces; }

  // Fields of the message. `field` is the field's number.
  void addInt(unsigned field, int64_t value);
  void addString(unsigned field, llvm::StringRef value);
  void addMessage(unsigned field, const google::protobuf::MessageLite &message);
  void addBytes(unsigned field, const Payload &payload);
  /// A message of two fields, numbers 1 and 2, of bytes; the second is left out
  /// when empty.
  void addPair(unsigned field, llvm::StringRef first, llvm::StringRef second);
  /// `inner` is used up.
  void addMessage(unsigned field, WireBuffer &&inner);

  /// Bytes of fields serialized elsewhere: appending them merges them in.
  void addFields(llvm::StringRef bytes);
  void addFields(const google::protobuf::MessageLite &message);
  void addFields(WireBuffer &&fields);

private:
  /// Room for `size` bytes at the end of the literal being written.
  char *extend(size_t size);
  void addHeader(unsigned field, unsigned wireType, uint64_t value);
  void addLiteral(const char *data, size_t size);
  void append(const Payload &piece);

  llvm::BumpPtrAllocator *arena;
  std::vector<Payload> pieces;
  uint64_t total = 0;
  /// The free part of the chunk literals are put into.
  char *cursor = nullptr, *end = nullptr;
  size_t nextChunk = 256;
};

/// Writes data piece by piece, narrowing what is to be narrowed.
llvm::Error writePieces(llvm::ArrayRef<Payload> pieces, AtomicFile &file);

} // namespace amp::onnx_export

#endif // AMP_LIB_TARGET_ONNX_WIREBUFFER_H
