//===- Files.cpp - Reading whole files, writing them atomically -----------===//
// Unnamed temporary file in the target's folder, fsync, link, rename.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Files.h"
#include "amp/Runtime/Failure.h"
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp::runtime;

/// Small pieces (headers) are gathered; larger ones go to the system directly.
static constexpr size_t bufferSize = 1 << 16;
/// Bytes per system call: below the 2 GiB that Linux accepts at once.
static constexpr size_t maxWrite = 64 << 20;

std::string amp::runtime::getFileName(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string amp::runtime::getFolder(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool amp::runtime::endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

[[noreturn]] static void failToRead(const std::string &path, int error) {
  fail(error == ENOENT ? AMP_NOT_FOUND : AMP_IO,
       "cannot read " + quote(path) + ": " + std::strerror(error));
}

Bytes amp::runtime::mapFile(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    failToRead(path, errno);
  struct stat status;
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    int error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    ::close(fd);
    failToRead(path, error);
  }
  size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    ::close(fd);
    return {};
  }
  void *data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  int error = errno;
  ::close(fd);
  if (data == MAP_FAILED)
    failToRead(path, error);
  std::shared_ptr<const void> owner(
      data, [size](void *memory) { ::munmap(memory, size); });
  return {std::string_view(static_cast<const char *>(data), size), owner};
}

void AtomicWriter::failWith(int error) const {
  fail(AMP_IO, "cannot write " + quote(path) + ": " + std::strerror(error));
}

/// A link is followed, so that what it leads to is replaced and not the link.
static std::string resolve(const std::string &path) {
  char *resolved = ::realpath(path.c_str(), nullptr);
  if (!resolved)
    return path;
  std::string text(resolved);
  std::free(resolved);
  return text;
}

/// Delegates, so that the destructor cleans up when this fails.
AtomicWriter::AtomicWriter(const std::string &name) : AtomicWriter() {
  path = name;
  target = resolve(name);
  struct stat status;
  bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode))
    failWith(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  if (exists && ::access(target.c_str(), W_OK) != 0)
    failWith(errno);
  mode_t mode = exists ? status.st_mode & 07777 : 0666;
  std::string folder = getFolder(target);
  fd = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  unnamed = fd >= 0;
  if (!unnamed && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL &&
      errno != ENOENT)
    failWith(errno);
  if (!unnamed)
    nameUnnamed();
  if (exists && ::fchmod(fd, mode) != 0)
    failWith(errno);
}

/// Gives the temporary file a name: the unnamed one a link, or a new file one.
void AtomicWriter::nameUnnamed() {
  std::string prefix = getFolder(target) + "/." +
                       getFileName(target).substr(0, 200) + "." +
                       std::to_string(::getpid()) + ".";
  std::string self = "/proc/self/fd/" + std::to_string(fd);
  for (unsigned attempt = 0; attempt < 100; ++attempt) {
    std::string name = prefix + std::to_string(attempt) + ".tmp";
    int result =
        unnamed ? ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
                           AT_SYMLINK_FOLLOW)
                : fd = ::open(name.c_str(),
                              O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (result >= 0) {
      temporary = name;
      return;
    }
    if (errno != EEXIST)
      failWith(errno);
  }
  failWith(EEXIST);
}

AtomicWriter::~AtomicWriter() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

void AtomicWriter::reserve(uint64_t size) {
  if (size == 0)
    return;
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) != 0 &&
      (errno == ENOSPC || errno == EFBIG))
    failWith(errno);
}

static int writeAll(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t count = ::write(fd, data, std::min(size, maxWrite));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return count == 0 ? EIO : errno;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return 0;
}

void AtomicWriter::flush() {
  if (int error = writeAll(fd, buffer.data(), buffer.size()))
    failWith(error);
  buffer.clear();
}

void AtomicWriter::write(const void *data, size_t size) {
  offset += size;
  if (buffer.size() + size <= bufferSize) {
    buffer.append(static_cast<const char *>(data), size);
    return;
  }
  flush();
  if (int error = writeAll(fd, static_cast<const char *>(data), size))
    failWith(error);
}

void AtomicWriter::commit() {
  flush();
  if (::fsync(fd) != 0)
    failWith(errno);
  if (unnamed)
    nameUnnamed();
  int result = ::close(fd);
  fd = -1;
  if (result != 0 || ::rename(temporary.c_str(), target.c_str()) != 0)
    failWith(errno);
  temporary.clear();
  // Makes the rename durable; not all file systems can, and the file is whole.
  int folder =
      ::open(getFolder(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}
