//===- Zip.cpp - Zip archives ---------------------------------------------===//
// The parts of PKWARE's APPNOTE that npz files, torch files and artifacts use.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Zip.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <cstring>
#include <set>
#include <zlib.h>

using namespace amp::runtime;

static constexpr uint32_t localMagic = 0x04034b50, rowMagic = 0x02014b50,
                          endMagic = 0x06054b50, end64Magic = 0x06064b50,
                          locator64Magic = 0x07064b50;
static constexpr size_t localSize = 30, rowSize = 46, endSize = 22,
                        end64Size = 56, locator64Size = 20;
static constexpr uint16_t zip64Tag = 1, paddingTag = 0x4d41;
static constexpr uint16_t storedMethod = 0, deflateMethod = 8;
/// Deflate cannot shrink by more than this factor.
static constexpr uint64_t mostShrinking = 1032;
static constexpr size_t dataAlignment = 64;

template <typename T> static T get(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// Goes on from `crc`; zlib takes no bytes at no address for a new start.
static uint32_t getChecksum(std::string_view bytes, uint32_t crc = 0) {
  if (bytes.empty())
    return crc;
  return static_cast<uint32_t>(crc32_z(
      crc, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

template <typename T> static void put(std::string &text, T value) {
  text.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

bool ZipReader::isZip(std::string_view bytes) {
  return bytes.size() >= endSize && (get<uint32_t>(bytes, 0) == localMagic ||
                                     get<uint32_t>(bytes, 0) == endMagic);
}

void ZipReader::reject(const std::string &what) const {
  fail(AMP_BAD_FILE, name + ": " + what);
}

std::string_view ZipReader::getBytes(uint64_t offset, uint64_t size) const {
  if (offset > bytes.view.size() || size > bytes.view.size() - offset)
    reject("is no zip archive, or is truncated");
  return bytes.view.substr(offset, size);
}

/// Finds the end record, which a comment of up to 64 KiB may follow.
uint64_t ZipReader::findDirectory(uint64_t &count, uint64_t &size) const {
  std::string_view all = bytes.view;
  if (all.size() < endSize)
    reject("is no zip archive (too short)");
  size_t end = all.size() - endSize, last = end > 65535 ? end - 65535 : 0;
  while (get<uint32_t>(all, end) != endMagic) {
    if (end == last)
      reject("is no zip archive, or is truncated");
    --end;
  }
  count = get<uint16_t>(all, end + 10);
  size = get<uint32_t>(all, end + 12);
  uint64_t offset = get<uint32_t>(all, end + 16);
  if (count != 0xffff && size != 0xffffffff && offset != 0xffffffff)
    return offset;
  if (end < locator64Size ||
      get<uint32_t>(all, end - locator64Size) != locator64Magic)
    return offset;
  std::string_view record =
      getBytes(get<uint64_t>(all, end - locator64Size + 8), end64Size);
  if (get<uint32_t>(record, 0) != end64Magic)
    reject("has a damaged zip64 record");
  count = get<uint64_t>(record, 32);
  size = get<uint64_t>(record, 40);
  return get<uint64_t>(record, 48);
}

/// Replaces the fields that do not fit 32 bits by those of the zip64 field.
static bool readZip64(std::string_view extra, ZipMember &member) {
  while (extra.size() >= 4) {
    size_t size = get<uint16_t>(extra, 2);
    if (size > extra.size() - 4)
      return false;
    if (get<uint16_t>(extra, 0) == zip64Tag) {
      std::string_view field = extra.substr(4, size);
      for (uint64_t *value :
           {&member.size, &member.packedSize, &member.offset}) {
        if (*value != 0xffffffff)
          continue;
        if (field.size() < 8)
          return false;
        *value = get<uint64_t>(field, 0);
        field.remove_prefix(8);
      }
    }
    extra.remove_prefix(4 + size);
  }
  return true;
}

ZipMember ZipReader::readRow(uint64_t &position) const {
  std::string_view row = getBytes(position, rowSize);
  if (get<uint32_t>(row, 0) != rowMagic)
    reject("has a damaged directory");
  size_t nameSize = get<uint16_t>(row, 28), extraSize = get<uint16_t>(row, 30),
         commentSize = get<uint16_t>(row, 32);
  ZipMember member;
  member.name = getBytes(position + rowSize, nameSize);
  if (get<uint16_t>(row, 8) & 1)
    reject("member " + quote(member.name) + " is encrypted");
  uint16_t method = get<uint16_t>(row, 10);
  if (method != storedMethod && method != deflateMethod)
    reject("member " + quote(member.name) + " has compression method " +
           std::to_string(method) + "; stored and deflated ones are read");
  member.deflated = method == deflateMethod;
  member.crc = get<uint32_t>(row, 16);
  member.packedSize = get<uint32_t>(row, 20);
  member.size = get<uint32_t>(row, 24);
  member.offset = get<uint32_t>(row, 42);
  if (!readZip64(getBytes(position + rowSize + nameSize, extraSize), member))
    reject("member " + quote(member.name) + " has a damaged extra field");
  position += rowSize + nameSize + extraSize + commentSize;
  return member;
}

ZipReader::ZipReader(Bytes data, std::string file)
    : bytes(std::move(data)), name(std::move(file)) {
  uint64_t count, size, position = findDirectory(count, size);
  getBytes(position, size);
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    members.push_back(readRow(position));
    if (!names.insert(members.back().name).second)
      reject("member " + quote(members.back().name) + " occurs twice");
  }
}

const ZipMember *ZipReader::find(std::string_view member) const {
  for (const ZipMember &each : members)
    if (each.name == member)
      return &each;
  return nullptr;
}

Bytes ZipReader::read(const ZipMember &member) const {
  std::string_view local = getBytes(member.offset, localSize);
  if (get<uint32_t>(local, 0) != localMagic)
    reject("member " + quote(member.name) + " is not where the directory says");
  uint64_t begin = member.offset + localSize + get<uint16_t>(local, 26) +
                   get<uint16_t>(local, 28);
  std::string_view packed = getBytes(begin, member.packedSize);
  if (!member.deflated && member.size != member.packedSize)
    reject("member " + quote(member.name) + " has two sizes");
  Bytes contents =
      member.deflated ? inflate(member, packed) : Bytes{packed, bytes.owner};
  if (getChecksum(contents.view) != member.crc)
    reject("member " + quote(member.name) + " is damaged (checksum)");
  return contents;
}

Bytes ZipReader::inflate(const ZipMember &member,
                         std::string_view packed) const {
  if (member.size / mostShrinking > packed.size())
    reject("member " + quote(member.name) + " cannot be as large as it says");
  auto memory = std::make_shared<std::string>(member.size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    fail(AMP_OUT_OF_MEMORY, "no memory to unpack " + name);
  size_t read = 0, written = 0;
  int result = Z_OK;
  constexpr size_t most = 1 << 30;
  while (result == Z_OK) {
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(std::min(packed.size() - read, most));
    stream.next_out = reinterpret_cast<Bytef *>(memory->data() + written);
    stream.avail_out =
        static_cast<uInt>(std::min(memory->size() - written, most));
    uInt inBefore = stream.avail_in, outBefore = stream.avail_out;
    result = ::inflate(&stream, Z_NO_FLUSH);
    read += inBefore - stream.avail_in;
    written += outBefore - stream.avail_out;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || written != member.size)
    reject("member " + quote(member.name) + " is damaged (deflate)");
  return {*memory, memory};
}

/// What local header and directory row have in common, from version to the
/// length of the name. Times are those of the format's beginning, so that equal
/// contents give equal files.
static std::string getCommon(const ZipMember &member, uint16_t extraSize) {
  std::string text;
  put<uint16_t>(text, 45);    // version that knows zip64
  put<uint16_t>(text, 0x800); // names are UTF-8
  put<uint16_t>(text, storedMethod);
  put<uint16_t>(text, 0);
  put<uint16_t>(text, 0x21); // 1 January 1980
  put<uint32_t>(text, member.crc);
  put<uint32_t>(text, 0xffffffff);
  put<uint32_t>(text, 0xffffffff);
  put<uint16_t>(text, static_cast<uint16_t>(member.name.size()));
  put<uint16_t>(text, extraSize);
  return text;
}

static std::string getZip64(const ZipMember &member, bool withOffset) {
  std::string text;
  put<uint16_t>(text, zip64Tag);
  put<uint16_t>(text, withOffset ? 24 : 16);
  put<uint64_t>(text, member.size);
  put<uint64_t>(text, member.packedSize);
  if (withOffset)
    put<uint64_t>(text, member.offset);
  return text;
}

void ZipWriter::add(const std::string &name, std::string_view head,
                    std::string_view body) {
  if (name.size() > 0xffff)
    fail(AMP_INVALID_ARGUMENT, "name " + quote(name) + " is too long for zip");
  uint32_t crc = getChecksum(body, getChecksum(head));
  uint64_t size = head.size() + body.size();
  ZipMember member{name, size, size, out.getOffset(), crc, false};
  std::string extra = getZip64(member, /*withOffset=*/false);
  uint64_t end = out.getOffset() + localSize + name.size() + extra.size() + 4;
  uint64_t padding = (dataAlignment - end % dataAlignment) % dataAlignment;
  put<uint16_t>(extra, paddingTag);
  put<uint16_t>(extra, static_cast<uint16_t>(padding));
  extra.append(padding, '\0');
  std::string local;
  put<uint32_t>(local, localMagic);
  local += getCommon(member, static_cast<uint16_t>(extra.size()));
  out.write(local + name + extra);
  out.write(head);
  out.write(body);
  members.push_back(std::move(member));
}

void ZipWriter::finish() {
  uint64_t begin = out.getOffset();
  for (const ZipMember &member : members) {
    std::string extra = getZip64(member, /*withOffset=*/true), row;
    put<uint32_t>(row, rowMagic);
    put<uint16_t>(row, 45);
    row += getCommon(member, static_cast<uint16_t>(extra.size()));
    row.append(rowSize - 4 - row.size(), '\0');
    put<uint32_t>(row, 0xffffffff);
    out.write(row + member.name + extra);
  }
  uint64_t end = out.getOffset(), count = members.size();
  std::string text;
  put<uint32_t>(text, end64Magic);
  put<uint64_t>(text, end64Size - 12);
  put<uint16_t>(text, 45);
  put<uint16_t>(text, 45);
  put<uint64_t>(text, 0); // two disk numbers
  put<uint64_t>(text, count);
  put<uint64_t>(text, count);
  put<uint64_t>(text, end - begin);
  put<uint64_t>(text, begin);
  put<uint32_t>(text, locator64Magic);
  put<uint32_t>(text, 0);
  put<uint64_t>(text, end);
  put<uint32_t>(text, 1);
  put<uint32_t>(text, endMagic);
  put<uint32_t>(text, 0);
  text.append(12, '\xff'); // counts, size and offset: see the zip64 record
  put<uint16_t>(text, 0);
  out.write(text);
}
