//===- ExternalFiles.cpp - Tensor data beside a model ---------------------===//
//
// A model may only name files in its own folder: it must not be able to read
// others.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace amp::importer;
using llvm::SmallString;
using llvm::Twine;
namespace path = llvm::sys::path;

namespace {

/// The entries of `TensorProto.external_data`.
struct Location {
  StringRef file;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

} // namespace

static llvm::Expected<Location>
readLocation(const ::onnx::TensorProto &tensor) {
  Location location;
  for (const ::onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (key == "location") {
      location.file = value;
    } else if (key == "offset" || key == "length") {
      uint64_t number;
      if (value.getAsInteger(10, number))
        return llvm::createStringError("its external data has the " + key +
                                       " '" + value +
                                       "', which is not a number of bytes");
      if (key == "offset")
        location.offset = number;
      else
        location.length = number;
    }
  }
  if (location.file.empty())
    return llvm::createStringError("its data is said to be in another file, "
                                   "but 'external_data' names none");
  return location;
}

/// Whether `file` (resolved) lies below the folder of `model`, as named or as
/// resolved: a cache may keep both the model and its data behind links into one
/// other folder.
static bool isBeside(StringRef file, StringRef model) {
  SmallString<256> folder, resolved;
  auto contains = [&](StringRef parent) {
    return file.starts_with(parent) &&
           (parent.ends_with(path::get_separator()) ||
            file.drop_front(parent.size()).starts_with(path::get_separator()));
  };
  StringRef parent = path::parent_path(model);
  if (!llvm::sys::fs::real_path(parent.empty() ? "." : parent, folder) &&
      contains(folder))
    return true;
  return !llvm::sys::fs::real_path(model, resolved) &&
         contains(path::parent_path(resolved));
}

llvm::Expected<std::string> ExternalFiles::resolve(StringRef location) const {
  auto refuse = [&](const Twine &why) {
    return llvm::createStringError("its external data is in '" + location +
                                   "', which " + why);
  };
  if (modelPath.empty())
    return refuse("can't be found because the model was not read from a file; "
                  "give the model's path");
  if (location.contains('\0'))
    return refuse("is not a file name");
  if (path::is_absolute(location))
    return refuse(
        "is an absolute path; it must be relative to the model's folder");
  if (llvm::is_contained(
          llvm::make_range(path::begin(location), path::end(location)),
          StringRef("..")))
    return refuse(
        "leaves the model's folder by '..'; put the file beside the model");
  SmallString<256> full(path::parent_path(modelPath)), resolved;
  path::append(full, location);
  if (std::error_code code = llvm::sys::fs::real_path(full, resolved))
    return refuse("can't be opened (" + code.message() +
                  "); put the file beside the model");
  if (llvm::sys::fs::is_directory(resolved))
    return refuse("is a folder; name the file in it that has the data");
  if (!isBeside(resolved, modelPath))
    return refuse("is a link that leaves the model's folder; put the file "
                  "itself beside the model");
  return std::string(resolved);
}

llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>>
ExternalFiles::open(StringRef location) {
  std::shared_ptr<llvm::MemoryBuffer> &file = files[location];
  if (file)
    return file;
  llvm::Expected<std::string> resolved = resolve(location);
  if (!resolved)
    return resolved.takeError();
  if (!llvm::sys::fs::is_regular_file(*resolved))
    return llvm::createStringError("its external data is in '" + location +
                                   "', which is not a regular file");
  auto opened = llvm::MemoryBuffer::getFile(*resolved, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!opened)
    return llvm::createStringError("its external data is in '" + location +
                                   "', which can't be read (" +
                                   opened.getError().message() + ")");
  file = std::move(*opened);
  return file;
}

llvm::Expected<MappedBytes>
ExternalFiles::read(const ::onnx::TensorProto &tensor, uint64_t size) {
  llvm::Expected<Location> location = readLocation(tensor);
  if (!location)
    return location.takeError();
  if (location->length && *location->length != size)
    return llvm::createStringError(
        "its external data has " + Twine(*location->length) +
        " bytes, but its shape needs " + Twine(size));
  llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>> file =
      open(location->file);
  if (!file)
    return file.takeError();
  uint64_t available = (*file)->getBufferSize();
  if (location->offset > available || size > available - location->offset)
    return llvm::createStringError(
        "its external data is at bytes " + Twine(location->offset) + " to " +
        Twine(location->offset) + "+" + Twine(size) + " of '" + location->file +
        "', which has only " + Twine(available) +
        " bytes; the file is incomplete");
  return MappedBytes{
      llvm::ArrayRef<char>((*file)->getBufferStart() + location->offset, size),
      *file};
}
