//===- WireReader.cpp - Protobuf's wire format, checked -------------------===//
//
// Lengths are 64-bit, so that one file may hold more than 2 GiB.
//
//===----------------------------------------------------------------------===//

#include "WireReader.h"
#include "llvm/Support/Endian.h"

using namespace amp::importer;

bool WireReader::fail(const char *text) {
  problem = text;
  return false;
}

bool WireReader::readVarint(uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (position == end)
      return fail("a number is cut off");
    uint64_t byte = static_cast<uint8_t>(*position++);
    // The tenth byte has room for one bit.
    if (shift == 63 && byte > 1)
      break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return fail("a number has more than 64 bits");
}

bool WireReader::readFixed(unsigned size, uint64_t &value) {
  if (static_cast<size_t>(end - position) < size)
    return fail("a number is cut off");
  value = size == 8 ? llvm::support::endian::read64le(position)
                    : llvm::support::endian::read32le(position);
  position += size;
  return true;
}

bool WireReader::next(WireField &field) {
  if (problem || position == end)
    return false;
  const char *start = position;
  uint64_t tag;
  if (!readVarint(tag))
    return false;
  // Field numbers have 29 bits, and 0 is none.
  if (tag > UINT32_MAX || tag >> 3 == 0)
    return fail("a field number is out of range");
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  field.value = 0;
  field.bytes = {};
  switch (field.type) {
  case WireType::Varint:
    if (!readVarint(field.value))
      return false;
    break;
  case WireType::Fixed64:
    if (!readFixed(8, field.value))
      return false;
    break;
  case WireType::Fixed32:
    if (!readFixed(4, field.value))
      return false;
    break;
  case WireType::Bytes: {
    uint64_t length;
    if (!readVarint(length))
      return false;
    if (length > static_cast<uint64_t>(end - position))
      return fail("a field is longer than what is left");
    field.bytes = llvm::StringRef(position, length);
    position += length;
    break;
  }
  default:
    return fail("a field has an unknown wire type");
  }
  field.whole = llvm::StringRef(start, position - start);
  return true;
}

llvm::Error WireReader::takeError(llvm::StringRef message) const {
  if (!problem)
    return llvm::Error::success();
  return llvm::createStringError("malformed " + message + ": " + problem +
                                 ", at byte " + llvm::Twine(position - begin) +
                                 " of " + llvm::Twine(end - begin));
}
