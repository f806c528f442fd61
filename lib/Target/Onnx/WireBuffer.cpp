//===- WireBuffer.cpp - Serialized messages in pieces ---------------------===//
// Literals go into chunks of growing size; small tensor data is copied there,
// larger data is a piece of its own.
//===----------------------------------------------------------------------===//

#include "WireBuffer.h"
#include <climits>
#include <cstring>

using namespace amp;
using namespace amp::onnx_export;
using google::protobuf::MessageLite;
using llvm::ArrayRef;

/// Data up to this size costs less to copy than to write as a piece.
static constexpr size_t maxCopied = 4096;
static constexpr size_t maxChunk = 1 << 20;
/// Bytes converted at a time; the result stays in the cache.
static constexpr size_t conversionStep = 1 << 18;

enum WireType : unsigned { varint = 0, delimited = 2 };

char *WireBuffer::extend(size_t size) {
  if (static_cast<size_t>(end - cursor) < size || pieces.empty()) {
    size_t chunk = std::max(size, nextChunk);
    nextChunk = std::min(nextChunk * 2, maxChunk);
    cursor = arena->Allocate<char>(chunk);
    end = cursor + chunk;
  }
  bool continues = !pieces.empty() && !pieces.back().narrow &&
                   pieces.back().source.end() == cursor;
  if (continues)
    pieces.back().source = ArrayRef(pieces.back().source.data(),
                                    pieces.back().source.size() + size);
  else
    pieces.push_back({ArrayRef(cursor, size), std::nullopt, HalfRange::Round});
  char *place = cursor;
  cursor += size;
  total += size;
  return place;
}

void WireBuffer::addLiteral(const char *data, size_t size) {
  if (size != 0)
    std::memcpy(extend(size), data, size);
}

static size_t encodeVarint(uint64_t value, char *target) {
  size_t size = 0;
  for (; value >= 0x80; value >>= 7)
    target[size++] = static_cast<char>(value | 0x80);
  target[size++] = static_cast<char>(value);
  return size;
}

void WireBuffer::addHeader(unsigned field, unsigned wireType, uint64_t value) {
  char bytes[20];
  size_t size = encodeVarint(field << 3 | wireType, bytes);
  size += encodeVarint(value, bytes + size);
  addLiteral(bytes, size);
}

void WireBuffer::addInt(unsigned field, int64_t value) {
  addHeader(field, varint, static_cast<uint64_t>(value));
}

void WireBuffer::addString(unsigned field, llvm::StringRef value) {
  addHeader(field, delimited, value.size());
  addLiteral(value.data(), value.size());
}

/// Bytes that a field of `size` bytes takes, for field numbers up to 15.
static size_t getFieldSize(size_t size) {
  char bytes[10];
  return 1 + encodeVarint(size, bytes) + size;
}

void WireBuffer::addPair(unsigned field, llvm::StringRef first,
                         llvm::StringRef second) {
  size_t size = getFieldSize(first.size());
  if (!second.empty())
    size += getFieldSize(second.size());
  addHeader(field, delimited, size);
  addString(1, first);
  if (!second.empty())
    addString(2, second);
}

void WireBuffer::addFields(llvm::StringRef bytes) {
  addLiteral(bytes.data(), bytes.size());
}

void WireBuffer::addFields(const MessageLite &message) {
  size_t size = message.ByteSizeLong();
  if (size != 0)
    message.SerializeWithCachedSizesToArray(
        reinterpret_cast<uint8_t *>(extend(size)));
}

void WireBuffer::addMessage(unsigned field, const MessageLite &message) {
  size_t size = message.ByteSizeLong();
  addHeader(field, delimited, size);
  if (size != 0)
    message.SerializeWithCachedSizesToArray(
        reinterpret_cast<uint8_t *>(extend(size)));
}

void WireBuffer::append(const Payload &piece) {
  pieces.push_back(piece);
  total += piece.size();
}

void WireBuffer::addBytes(unsigned field, const Payload &payload) {
  addHeader(field, delimited, payload.size());
  if (payload.size() > maxCopied)
    return append(payload);
  if (payload.size() == 0)
    return;
  char *place = extend(payload.size());
  if (payload.narrow)
    convertToHalf(payload.source.data(), place, payload.size() / 2,
                  *payload.narrow, payload.range);
  else
    std::memcpy(place, payload.source.data(), payload.size());
}

void WireBuffer::addMessage(unsigned field, WireBuffer &&inner) {
  addHeader(field, delimited, inner.size());
  addFields(std::move(inner));
}

void WireBuffer::addFields(WireBuffer &&fields) {
  for (const Payload &piece : fields.pieces) {
    if (!piece.narrow && piece.size() <= maxCopied)
      addLiteral(piece.source.data(), piece.source.size());
    else
      append(piece);
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {

/// Gathers pieces until a system call is worth it.
class Writer {
public:
  explicit Writer(AtomicFile &file) : file(file) {}

  llvm::Error add(ArrayRef<char> data) {
    gathered.push_back({const_cast<char *>(data.data()), data.size()});
    return gathered.size() == IOV_MAX ? flush() : llvm::Error::success();
  }

  llvm::Error addNarrowed(const Payload &payload) {
    if (llvm::Error error = flush())
      return error;
    ArrayRef<char> rest = payload.source;
    converted.resize(conversionStep / 2);
    while (!rest.empty()) {
      ArrayRef<char> step = rest.take_front(conversionStep);
      convertToHalf(step.data(), converted.data(), step.size() / sizeof(float),
                    *payload.narrow, payload.range);
      if (llvm::Error error =
              file.write(ArrayRef(converted).take_front(step.size() / 2)))
        return error;
      rest = rest.drop_front(step.size());
    }
    return llvm::Error::success();
  }

  llvm::Error flush() {
    llvm::Error error = file.write(llvm::MutableArrayRef(gathered));
    gathered.clear();
    return error;
  }

private:
  AtomicFile &file;
  std::vector<struct iovec> gathered;
  std::vector<char> converted;
};

} // namespace

llvm::Error amp::onnx_export::writePieces(ArrayRef<Payload> pieces,
                                          AtomicFile &file) {
  Writer writer(file);
  for (const Payload &piece : pieces)
    if (llvm::Error error =
            piece.narrow ? writer.addNarrowed(piece) : writer.add(piece.source))
      return error;
  return writer.flush();
}
