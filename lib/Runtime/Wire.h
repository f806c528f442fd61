//===- Wire.h - Fields of protobuf messages ---------------------*- C++ -*-===//
// Walks and writes the wire format; what fields mean is the caller's matter.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_RUNTIME_WIRE_H
#define AMP_LIB_RUNTIME_WIRE_H

#include "amp/Runtime/Failure.h"
#include <cstdint>
#include <cstring>

namespace amp::runtime {

enum class WireType : uint8_t {
  Varint = 0,
  Fixed64 = 1,
  Length = 2,
  Fixed32 = 5
};

struct WireField {
  uint32_t number;
  WireType type;
  /// Of a varint.
  uint64_t value;
  /// The contents of a length-delimited field, and the field with its tag.
  std::string_view contents, whole;
};

/// Goes over the fields of one message.
class WireReader {
public:
  WireReader(std::string_view bytes, const std::string &file)
      : rest(bytes), file(file) {}

  bool next(WireField &field) {
    if (rest.empty())
      return false;
    std::string_view start = rest;
    uint64_t tag = takeVarint();
    field = {static_cast<uint32_t>(tag >> 3),
             static_cast<WireType>(tag & 7),
             0,
             {},
             {}};
    if (tag >> 3 == 0 || tag >> 32 != 0)
      reject();
    switch (field.type) {
    case WireType::Varint:
      field.value = takeVarint();
      break;
    case WireType::Fixed64:
      field.contents = take(8);
      break;
    case WireType::Length:
      field.contents = take(takeVarint());
      break;
    case WireType::Fixed32:
      field.contents = take(4);
      break;
    default:
      reject();
    }
    field.whole = start.substr(0, start.size() - rest.size());
    return true;
  }

  /// A varint inside a packed field.
  uint64_t takeVarint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
    reject();
  }
  bool isAtEnd() const { return rest.empty(); }

private:
  [[noreturn]] void reject() const {
    fail(AMP_BAD_FILE, file + ": is no ONNX model, or is truncated");
  }
  std::string_view take(uint64_t count) {
    if (count > rest.size())
      reject();
    std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }

  std::string_view rest;
  const std::string &file;
};

inline void putVarint(std::string &text, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>(value | 0x80);
  text += static_cast<char>(value);
}

/// The tag and length that come before `size` bytes of contents.
inline std::string getLengthHead(uint32_t number, uint64_t size) {
  std::string text;
  putVarint(text, number << 3 | static_cast<uint32_t>(WireType::Length));
  putVarint(text, size);
  return text;
}

} // namespace amp::runtime

#endif // AMP_LIB_RUNTIME_WIRE_H
