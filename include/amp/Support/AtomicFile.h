//===- AtomicFile.h - Output files that appear whole or not -----*- C++ -*-===//
// Files are written under a temporary name, synced, and renamed at the end.
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_ATOMICFILE_H
#define AMP_SUPPORT_ATOMICFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <sys/uio.h>

namespace amp {

/// An output file. Until `commit` succeeds nothing is seen under its path: an
/// older file there stays whole, and the temporary file is removed when the
/// object is destroyed or the process ends by a signal that LLVM handles.
///
/// "-" is standard output; that and whatever exists and is no regular file (a
/// device, a pipe) is written directly. All errors name the path and what the
/// system says.
class AtomicFile {
public:
  static llvm::Expected<std::unique_ptr<AtomicFile>>
  create(llvm::StringRef path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  llvm::Error write(llvm::ArrayRef<char> data);
  llvm::Error write(llvm::StringRef data) {
    return write(llvm::ArrayRef(data.data(), data.size()));
  }

  /// Writes all pieces in order; `pieces` is used up.
  llvm::Error write(llvm::MutableArrayRef<struct iovec> pieces);

  /// Asks for room for `size` bytes, so that a full disk is noticed before
  /// anything is written.
  llvm::Error reserve(uint64_t size);

  /// Whether the file is renamed into place (and so can have companions).
  bool isAtomic() const { return !temporary.empty(); }

  /// Syncs and closes all files, then renames them in order, then syncs their
  /// folders. When one cannot be finished, none appears.
  static llvm::Error commit(llvm::ArrayRef<AtomicFile *> files);

private:
  AtomicFile(llvm::StringRef path, int fd) : path(path), fd(fd) {}

  llvm::Error fail(llvm::StringRef what, int error) const;
  llvm::Error openTemporary(bool exists, unsigned mode);
  llvm::Error finish();
  llvm::Error publish();

  /// As the user spelled it, for messages.
  std::string path;
  /// Where the file goes, links followed, and its name until then; empty when
  /// it is written directly.
  std::string target, temporary;
  int fd;
  /// Start of what has not been handed to the disk yet.
  uint64_t written = 0, flushed = 0;
};

/// Makes the renames in a folder durable. Not all file systems can; the files
/// themselves are whole by then, so that is no failure.
void syncFolder(llvm::StringRef folder);

/// Writes a whole file that way.
llvm::Error writeTextFile(llvm::StringRef path, llvm::StringRef text);

} // namespace amp

#endif // AMP_SUPPORT_ATOMICFILE_H
