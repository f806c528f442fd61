//===- Files.h - Reading whole files, writing them atomically ---*- C++ -*-===//
// Mapped input files, and output files that appear whole or not.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_FILES_H
#define AMP_RUNTIME_FILES_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace amp::runtime {

/// Bytes that someone keeps alive.
struct Bytes {
  std::string_view view;
  std::shared_ptr<const void> owner;
};

/// Maps a regular file.
Bytes mapFile(const std::string &path);

/// An output file: until `commit` returns nothing is seen under its path and an
/// older file there stays whole. What was not committed leaves no trace, also
/// when the process is killed (where the file system has unnamed files).
class AtomicWriter {
public:
  explicit AtomicWriter(const std::string &path);
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter &) = delete;
  AtomicWriter &operator=(const AtomicWriter &) = delete;

  /// Asks for room, so that a full disk is noticed before anything is written.
  void reserve(uint64_t size);
  void write(const void *data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  uint64_t getOffset() const { return offset; }
  /// Syncs, renames into place and syncs the folder.
  void commit();

private:
  AtomicWriter() = default;
  [[noreturn]] void failWith(int error) const;
  void nameUnnamed();

  std::string path, target, temporary;
  int fd = -1;
  bool unnamed = false;
  uint64_t offset = 0;
  std::string buffer;
  void flush();
};

/// The part of a path after the last slash, and before it ("." if there is no
/// slash).
std::string getFileName(const std::string &path);
std::string getFolder(const std::string &path);
bool endsWith(std::string_view text, std::string_view end);

} // namespace amp::runtime

#endif // AMP_RUNTIME_FILES_H
