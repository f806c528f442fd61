//===- Artifact.cpp - An artifact on disk ---------------------------------===//
// Finds the files, checks them against each other, loads the code.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Artifact.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Zip.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp::runtime;

static const char *const manifestName = "manifest.json";

static bool checkIsDirectory(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    fail(errno == ENOENT ? AMP_NOT_FOUND : AMP_IO,
         "cannot open artifact " + quote(path) + ": " + std::strerror(errno));
  return S_ISDIR(status.st_mode);
}

/// Names the artifact in whatever goes wrong in `action`.
template <typename Action>
static auto inside(const std::string &path, Action action) {
  try {
    return action();
  } catch (const Failure &failure) {
    fail(failure.status, "artifact " + quote(path) + ": " + failure.what());
  }
}

Artifact::Artifact(const std::string &path)
    : path(path), isDirectory(checkIsDirectory(path)) {
  inside(path, [&] { manifest = parseManifest(readFile(manifestName).view); });
}

Bytes Artifact::readFile(const std::string &name) const {
  if (isDirectory)
    return mapFile(path + "/" + name);
  ZipReader zip(mapFile(path), getFileName(path));
  const ZipMember *member = zip.find(name);
  if (!member)
    fail(AMP_NOT_FOUND, "there is no file " + quote(name) + " in it");
  return zip.read(*member);
}

TensorFile Artifact::readInit() const {
  return inside(path, [&] {
    TensorFile file = readSafetensors(readFile(manifest.init), manifest.init);
    std::map<std::string_view, const Array *> arrays;
    for (const Array &array : file.arrays)
      arrays[array.name] = &array;
    for (const TensorInfo &tensor : manifest.tensors) {
      if (tensor.initKey.empty())
        continue;
      auto found = arrays.find(tensor.initKey);
      if (found == arrays.end())
        fail(AMP_BAD_FILE, manifest.init + ": initial value " +
                               quote(tensor.initKey) + " of " +
                               quote(tensor.name) + " is missing");
      if (found->second->dtype != tensor.dtype ||
          found->second->shape != tensor.shape)
        fail(AMP_MISMATCH, manifest.init + ": initial value " +
                               quote(tensor.initKey) + " is " +
                               found->second->describe() + ", but tensor " +
                               quote(tensor.name) + " is " + tensor.describe());
    }
    return file;
  });
}

Code::~Code() {
  if (handle)
    ::dlclose(handle);
}

void Code::load(const std::string &path, const std::string &file) {
  name = file;
  handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail(AMP_BAD_FILE, "cannot load code: " + std::string(::dlerror()));
}

amp_entry Code::find(const EntryInfo &entry) const {
  void *symbol = ::dlsym(handle, entry.symbol.c_str());
  if (!symbol)
    fail(AMP_BAD_FILE, name + " has no symbol " + quote(entry.symbol) +
                           ", which the manifest names for entry " +
                           quote(entry.name));
  return reinterpret_cast<amp_entry>(symbol);
}

/// The loader dies of a library whose segments reach past the file's end.
static void checkElf(std::string_view bytes, const std::string &name) {
  auto reject = [&](const char *what) {
    fail(AMP_BAD_FILE, name + ": " + what);
  };
  constexpr size_t headerSize = 64, rowSize = 56;
  if (bytes.size() < headerSize || bytes.substr(0, 4) != "\x7f"
                                                         "ELF")
    reject("is no shared library");
  if (bytes[4] != 2 || bytes[5] != 1)
    reject("is no 64-bit little-endian library");
  uint16_t machine, count, size;
  uint64_t table;
  std::memcpy(&machine, bytes.data() + 18, 2);
  std::memcpy(&table, bytes.data() + 32, 8);
  std::memcpy(&size, bytes.data() + 54, 2);
  std::memcpy(&count, bytes.data() + 56, 2);
#if defined(__x86_64__)
  constexpr uint16_t ours = 62;
  if (machine != ours)
    reject("is made for another kind of processor than x86-64");
#endif
  if (size != rowSize || table > bytes.size() ||
      count > (bytes.size() - table) / rowSize)
    reject("is truncated");
  for (size_t i = 0; i < count; ++i) {
    uint64_t offset, length;
    const char *row = bytes.data() + table + i * rowSize;
    std::memcpy(&offset, row + 8, 8);
    std::memcpy(&length, row + 32, 8);
    if (offset > bytes.size() || length > bytes.size() - offset)
      reject("is truncated");
  }
}

/// Loads code that lies in an archive by way of a file in memory.
static void loadFromMemory(std::string_view bytes, const std::string &name,
                           Code &code) {
  int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0)
    fail(AMP_IO,
         "cannot make a file in memory: " + std::string(std::strerror(errno)));
  std::shared_ptr<const void> closer(&fd, [](int *fd) { ::close(*fd); });
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count <= 0)
      fail(AMP_IO, "cannot unpack " + name + ": " + std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  code.load("/proc/self/fd/" + std::to_string(fd), name);
}

void Artifact::loadCode(Code &code) const {
  inside(path, [&] {
    std::vector<std::string> missing =
        findMissingFeatures(manifest.features, readCpuFlags());
    NameList names;
    for (const std::string &feature : missing)
      names.add(feature);
    if (!names.empty())
      fail(AMP_MISMATCH, "the code was compiled for CPU " +
                             quote(manifest.cpu) +
                             ", this CPU lacks the features " + names.str() +
                             "; compile the model again with --cpu= for this "
                             "machine");
    Bytes bytes = readFile(manifest.code);
    checkElf(bytes.view, manifest.code);
    if (!isDirectory)
      return loadFromMemory(bytes.view, manifest.code, code);
    // A slash keeps the loader from searching its own folders.
    std::string file = path + "/" + manifest.code;
    code.load(file[0] == '/' ? file : "./" + file, manifest.code);
  });
}
