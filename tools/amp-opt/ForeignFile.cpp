//===- ForeignFile.cpp - Files that are no models of ours -----------------===//
//
// Known beginnings of files that people mistake for models, and a test for
// text.
//
//===----------------------------------------------------------------------===//

#include "ForeignFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Endian.h"

using llvm::StringRef;

namespace {

struct Kind {
  StringRef begin, what;
};

} // namespace

/// Beginnings of files; letters count in either case.
static constexpr Kind kinds[] = {
    {"\x1f\x8b", "it is compressed by gzip; unpack it first"},
    {"BZh", "it is compressed by bzip2; unpack it first"},
    {"\xfd"
     "7zXZ",
     "it is compressed by xz; unpack it first"},
    {"\x28\xb5\x2f\xfd", "it is compressed by zstd; unpack it first"},
    {"PK\x03\x04",
     "it is a zip archive, as torch.save and numpy.savez write; export a "
     "PyTorch model by torch.onnx.export, or unpack the archive"},
    {"\x80\x02",
     "it is a Python pickle, as older torch.save writes; export the "
     "model by torch.onnx.export"},
    {"\x89HDF", "it is an HDF5 file, as Keras writes; convert it by tf2onnx"},
    {"\x93NUMPY", "it is a NumPy array"},
    {"GGUF", "it is a GGUF file, which has weights and no graph"},
    {"<!doctype html", "it is a web page; look at what the download gave"},
    {"<html", "it is a web page; look at what the download gave"},
    {"<?xml", "it is XML"},
    {"version https://git-lfs",
     "it stands for a file in Git LFS; run 'git lfs pull'"},
    {"{\"", "it is JSON"},
};

/// A length of eight bytes, and a JSON object of that length.
static bool isSafetensors(StringRef contents) {
  if (contents.size() < 10 || contents[8] != '{')
    return false;
  return llvm::support::endian::read64le(contents.data()) <=
         contents.size() - 8;
}

static bool isText(StringRef contents) {
  if (contents.contains('\0'))
    return false;
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(contents.begin());
  return llvm::isLegalUTF8String(
      &begin, reinterpret_cast<const llvm::UTF8 *>(contents.end()));
}

std::string amp::describeForeignFile(StringRef contents) {
  constexpr StringRef bytecode = "ML\xefR";
  if (contents.starts_with(bytecode))
    return {};
  StringRef trimmed = contents.ltrim();
  for (const Kind &kind : kinds)
    if (trimmed.starts_with_insensitive(kind.begin))
      return kind.what.str();
  if (contents.substr(4, 4) == "TFL3")
    return "it is a TensorFlow Lite model; convert it by tf2onnx";
  if (isSafetensors(contents))
    return "it is a safetensors file, which has weights and no graph; export "
           "the model that they belong to";
  if (trimmed.empty())
    return "it has nothing but white space";
  return isText(contents)
             ? ""
             : "it is binary data that is neither, or it is damaged";
}
