//===- Zip.h - Zip archives -------------------------------------*- C++ -*-===//
// Reader (stored and deflated members, zip64) and writer (stored members).
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_ZIP_H
#define AMP_RUNTIME_ZIP_H

#include "amp/Runtime/Files.h"
#include <vector>

namespace amp::runtime {

struct ZipMember {
  std::string name;
  uint64_t size, packedSize;
  /// Where the member's local header is in the file.
  uint64_t offset;
  uint32_t crc;
  bool deflated;
};

class ZipReader {
public:
  /// Whether the bytes begin as a zip archive does.
  static bool isZip(std::string_view bytes);

  /// `name` is for messages.
  ZipReader(Bytes bytes, std::string name);

  const std::vector<ZipMember> &getMembers() const { return members; }
  const ZipMember *find(std::string_view member) const;
  /// The contents, checked against their checksum: a view of the file when the
  /// member is stored, else unpacked.
  Bytes read(const ZipMember &member) const;

private:
  [[noreturn]] void reject(const std::string &what) const;
  uint64_t findDirectory(uint64_t &count, uint64_t &size) const;
  ZipMember readRow(uint64_t &position) const;
  std::string_view getBytes(uint64_t offset, uint64_t size) const;
  Bytes inflate(const ZipMember &member, std::string_view packed) const;

  Bytes bytes;
  std::string name;
  std::vector<ZipMember> members;
};

class ZipWriter {
public:
  explicit ZipWriter(AtomicWriter &out) : out(out) {}
  /// A member made of `head` and `body`, whose data begins at a multiple of 64.
  void add(const std::string &name, std::string_view head,
           std::string_view body);
  /// Writes the directory.
  void finish();

private:
  AtomicWriter &out;
  std::vector<ZipMember> members;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_ZIP_H
