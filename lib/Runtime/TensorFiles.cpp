//===- TensorFiles.cpp - Files of named arrays ----------------------------===//
// Tells the formats apart by their first bytes.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Checkpoint.h"
#include "amp/Runtime/Npy.h"
#include "amp/Runtime/TorchFile.h"

using namespace amp::runtime;

static bool holdsArraysOnly(const ZipReader &zip) {
  for (const ZipMember &member : zip.getMembers())
    if (!endsWith(member.name, ".npy"))
      return false;
  return true;
}

TensorFile amp::runtime::readTensors(const Bytes &bytes,
                                     const std::string &path) {
  if (bytes.view.substr(0, 6) == std::string_view("\x93NUMPY", 6)) {
    std::string name = getFileName(path);
    return {{readNpy(bytes, name.substr(0, name.rfind('.')), path)}, {}};
  }
  if (!ZipReader::isZip(bytes.view))
    return readSafetensors(bytes, path);
  ZipReader zip(bytes, path);
  if (holdsArraysOnly(zip))
    return {readNpz(bytes, path), {}};
  return {readTorchFile(zip, path), {}};
}

TensorFile amp::runtime::readTensorFile(const std::string &path) {
  return readTensors(mapFile(path), path);
}
