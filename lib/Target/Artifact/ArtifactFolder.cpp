//===- ArtifactFolder.cpp - A directory that appears whole or not ---------===//
//
// Made beside its place, and exchanged with what is there at the end.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "amp/Support/AtomicFile.h"
#include "amp/Support/Json.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp;
using namespace amp::artifact;
using llvm::Error;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static Error fail(const llvm::Twine &what, int error) {
  return llvm::createStringError(
      std::error_code(error, std::generic_category()),
      what + ": " + std::strerror(error));
}

/// Without slashes at the end, so that it has a name and a parent.
static StringRef trimPath(StringRef name) {
  StringRef trimmed = name.rtrim('/');
  return trimmed.empty() ? name : trimmed;
}

static StringRef getParent(StringRef name) {
  StringRef parent = path::parent_path(name);
  return parent.empty() ? StringRef(".") : parent;
}

static std::string join(StringRef folder, StringRef file) {
  llvm::SmallString<256> result(folder);
  path::append(result, file);
  return result.str().str();
}

static bool isArtifactFile(StringRef name) {
  return name == manifestName || name == initName || name == codeName ||
         name == kernelsName;
}

//===----------------------------------------------------------------------===//
// What is there already
//===----------------------------------------------------------------------===//

/// Whether `folder` has a manifest that says it is one of ours.
static bool isArtifact(StringRef folder) {
  auto buffer = llvm::MemoryBuffer::getFile(join(folder, manifestName));
  if (!buffer)
    return false;
  llvm::Expected<llvm::json::Value> value = parseJson((*buffer)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const llvm::json::Object *object = value->getAsObject();
  return object && object->getString("format") == "amp-mlir-artifact";
}

/// Calls `visit` with the name and kind of everything in `folder`.
static Error
forEachFile(StringRef folder,
            llvm::function_ref<Error(StringRef, fs::file_type)> visit) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error, /*follow_symlinks=*/false), end;
       it != end && !error; it.increment(error))
    if (Error failure = visit(path::filename(it->path()), it->type()))
      return failure;
  if (error)
    return fail("cannot read the folder '" + folder + "'", error.value());
  return Error::success();
}

Error amp::checkArtifactPath(StringRef name) {
  StringRef target = trimPath(name);
  fs::file_status status;
  if (fs::status(target, status))
    return Error::success();
  if (status.type() != fs::file_type::directory_file)
    return llvm::createStringError("'" + target +
                                   "' exists and is no folder; give the "
                                   "artifact another name");
  bool isEmpty = true;
  Error read = forEachFile(target, [&](StringRef, fs::file_type) {
    isEmpty = false;
    return Error::success();
  });
  if (read)
    return read;
  if (isEmpty)
    return Error::success();
  if (!isArtifact(target))
    return llvm::createStringError("the folder '" + target +
                                   "' exists and is no artifact; give another "
                                   "name or remove it");
  return forEachFile(target, [&](StringRef file, fs::file_type type) -> Error {
    if (type != fs::file_type::directory_file || file == kernelsName)
      return Error::success();
    return llvm::createStringError("the artifact '" + target +
                                   "' has the folder '" + file +
                                   "' in it; move that elsewhere first");
  });
}

//===----------------------------------------------------------------------===//
// The new one
//===----------------------------------------------------------------------===//

llvm::Expected<std::unique_ptr<ArtifactFolder>>
ArtifactFolder::create(StringRef place) {
  if (Error error = checkArtifactPath(place))
    return std::move(error);
  std::unique_ptr<ArtifactFolder> folder(new ArtifactFolder(trimPath(place)));
  StringRef target = folder->target;
  if (std::error_code error = fs::create_directories(getParent(target)))
    return fail("cannot make the folder '" + getParent(target) + "'",
                error.value());
  std::string pattern =
      join(getParent(target),
           ("." + path::filename(target).take_front(200) + ".%%%%%%%%").str());
  llvm::SmallString<256> name;
  int made;
  do {
    fs::createUniquePath(pattern, name, /*MakeAbsolute=*/false);
    made = ::mkdir(name.c_str(), 0777);
  } while (made != 0 && errno == EEXIST);
  if (made != 0)
    return fail("cannot make the folder '" + target + "'", errno);
  folder->temporary = name.str().str();
  return folder;
}

ArtifactFolder::~ArtifactFolder() {
  if (!temporary.empty())
    (void)fs::remove_directories(temporary);
}

std::string ArtifactFolder::getPath(StringRef file) const {
  return join(temporary, file);
}

Error ArtifactFolder::addFolder(StringRef name) const {
  if (::mkdir(getPath(name).c_str(), 0777) != 0)
    return fail("cannot make the folder '" + getPath(name) + "'", errno);
  return Error::success();
}

/// Files of the user's in the artifact that is replaced are in the new one,
/// too, before the old one goes.
Error ArtifactFolder::takeOverFiles() {
  return forEachFile(target, [&](StringRef file, fs::file_type) -> Error {
    if (isArtifactFile(file) ||
        ::link(join(target, file).c_str(), getPath(file).c_str()) == 0)
      return Error::success();
    return fail("cannot keep '" + join(target, file) + "'", errno);
  });
}

Error ArtifactFolder::publish() {
  bool exists = fs::exists(target);
  if (exists)
    if (Error error = takeOverFiles())
      return error;
  syncFolder(temporary);
  unsigned flags = exists ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(),
                  flags) != 0)
    return fail("cannot write '" + target + "'", errno);
  syncFolder(getParent(target));
  // After an exchange the old artifact has the temporary name and goes.
  if (!exists)
    temporary.clear();
  return Error::success();
}
