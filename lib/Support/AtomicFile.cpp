//===- AtomicFile.cpp - Output files that appear whole or not -------------===//
// Temporary file beside the target, fsync, rename, fsync of the folder.
//===----------------------------------------------------------------------===//

#include "amp/Support/AtomicFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp;
using llvm::Error;
using llvm::StringRef;

/// Handing data to the disk every so often overlaps the disk's work with ours.
static constexpr uint64_t flushInterval = 32 << 20;
/// Bytes per system call, so that the above can happen in between.
static constexpr size_t maxWrite = 8 << 20;

Error AtomicFile::fail(StringRef what, int error) const {
  return llvm::createStringError(
      std::error_code(error, std::generic_category()),
      "cannot " + what + " '" + (path == "-" ? "standard output" : path) +
          "': " + std::strerror(error));
}

/// `path` with links followed, also when the last link leads nowhere yet.
static std::string followLinks(StringRef path) {
  llvm::SmallString<256> resolved(path), link;
  for (int depth = 0; depth < 40; ++depth) {
    char text[PATH_MAX];
    ssize_t size = ::readlink(resolved.c_str(), text, sizeof(text));
    if (size < 0)
      break;
    StringRef next(text, size);
    if (llvm::sys::path::is_relative(next)) {
      link = llvm::sys::path::parent_path(resolved);
      llvm::sys::path::append(link, next);
      resolved = link;
    } else {
      resolved = next;
    }
  }
  return resolved.str().str();
}

static StringRef getFolder(StringRef path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? StringRef(".") : folder;
}

Error AtomicFile::openTemporary(bool exists, unsigned mode) {
  if (exists && ::access(target.c_str(), W_OK) != 0)
    return fail("write", errno);
  llvm::SmallString<256> pattern(getFolder(target)), name;
  // A long name must leave room for what is added to it.
  llvm::sys::path::append(
      pattern, "." + llvm::sys::path::filename(target).take_front(200) +
                   ".%%%%%%%%.tmp");
  if (std::error_code error =
          llvm::sys::fs::createUniqueFile(pattern, fd, name))
    return fail("write", error.value());
  temporary = name.str().str();
  llvm::sys::RemoveFileOnSignal(temporary);
  if (exists && ::fchmod(fd, mode & 07777) != 0)
    return fail("write", errno);
  return Error::success();
}

llvm::Expected<std::unique_ptr<AtomicFile>> AtomicFile::create(StringRef path) {
  if (path == "-")
    return std::unique_ptr<AtomicFile>(new AtomicFile(path, STDOUT_FILENO));
  std::unique_ptr<AtomicFile> file(new AtomicFile(path, -1));
  std::string target = followLinks(path);
  struct stat status;
  bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return file->fail("write", EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    file->fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file->fd < 0)
      return file->fail("write", errno);
    return file;
  }
  file->target = std::move(target);
  if (Error error = file->openTemporary(exists, exists ? status.st_mode : 0))
    return std::move(error);
  return file;
}

AtomicFile::~AtomicFile() {
  if (fd >= 0 && fd != STDOUT_FILENO)
    ::close(fd);
  if (temporary.empty())
    return;
  ::unlink(temporary.c_str());
  llvm::sys::DontRemoveFileOnSignal(temporary);
}

Error AtomicFile::write(llvm::ArrayRef<char> data) {
  struct iovec piece = {const_cast<char *>(data.data()), data.size()};
  return write(llvm::MutableArrayRef(piece));
}

/// Drops the first `count` bytes of `pieces`.
static void skip(llvm::MutableArrayRef<struct iovec> &pieces, size_t count) {
  while (!pieces.empty() && count >= pieces.front().iov_len) {
    count -= pieces.front().iov_len;
    pieces = pieces.drop_front();
  }
  if (count == 0)
    return;
  pieces.front().iov_base =
      static_cast<char *>(pieces.front().iov_base) + count;
  pieces.front().iov_len -= count;
}

/// One system call; the result is that of `writev`.
static ssize_t writeSome(int fd, llvm::ArrayRef<struct iovec> pieces) {
  if (pieces.front().iov_len >= maxWrite)
    return ::write(fd, pieces.front().iov_base, maxWrite);
  size_t size = 0, count = 0;
  while (count < std::min<size_t>(pieces.size(), IOV_MAX) &&
         size + pieces[count].iov_len <= maxWrite)
    size += pieces[count++].iov_len;
  return ::writev(fd, pieces.data(), count);
}

Error AtomicFile::write(llvm::MutableArrayRef<struct iovec> pieces) {
  skip(pieces, 0);
  while (!pieces.empty()) {
    ssize_t count = writeSome(fd, pieces);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail("write", errno);
    skip(pieces, count);
    written += count;
    if (isAtomic() && written - flushed >= flushInterval) {
      // Only a hint: an error of the disk comes back from fsync.
      ::sync_file_range(fd, flushed, written - flushed, SYNC_FILE_RANGE_WRITE);
      flushed = written;
    }
  }
  return Error::success();
}

Error AtomicFile::reserve(uint64_t size) {
  if (!isAtomic() || size == 0)
    return Error::success();
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size) == 0 || errno != ENOSPC)
    return Error::success();
  return fail("write", ENOSPC);
}

Error AtomicFile::finish() {
  // Pipes and devices cannot be synced, which is no error.
  if (::fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
    return fail("write", errno);
  if (fd == STDOUT_FILENO)
    return Error::success();
  int result = ::close(fd);
  fd = -1;
  return result == 0 ? Error::success() : fail("write", errno);
}

Error AtomicFile::publish() {
  if (!isAtomic())
    return Error::success();
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return fail("write", errno);
  llvm::sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  return Error::success();
}

void amp::syncFolder(StringRef folder) {
  int fd = ::open(folder.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  ::fsync(fd);
  ::close(fd);
}

Error AtomicFile::commit(llvm::ArrayRef<AtomicFile *> files) {
  for (AtomicFile *file : files)
    if (Error error = file->finish())
      return error;
  for (AtomicFile *file : files)
    if (Error error = file->publish())
      return error;
  for (AtomicFile *file : files)
    if (!file->target.empty())
      syncFolder(getFolder(file->target));
  return Error::success();
}

llvm::Error amp::writeTextFile(llvm::StringRef path, llvm::StringRef text) {
  llvm::Expected<std::unique_ptr<AtomicFile>> file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = (*file)->write(text))
    return error;
  return AtomicFile::commit(file->get());
}
