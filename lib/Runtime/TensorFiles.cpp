//===- TensorFiles.cpp - Files of named arrays ----------------------------===//
// Tells the formats apart by their first bytes.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Checkpoint.h"
#include "amp/Runtime/Npy.h"
#include "amp/Runtime/TorchFile.h"

using namespace amp::runtime;

TensorFile amp::runtime::readTensors(const Bytes &bytes,
                                     const std::string &path) {
  if (bytes.view.substr(0, 6) == std::string_view("\x93NUMPY", 6)) {
    std::string name = getFileName(path);
    return {{readNpy(bytes, name.substr(0, name.rfind('.')), path)}, {}};
  }
  if (std::optional<TorchValue> root = readTorchFile(bytes, path))
    return {listTensors(*root, path), {}};
  if (ZipReader::isZip(bytes.view))
    return {readNpz(bytes, path), {}};
  return readSafetensors(bytes, path);
}

TensorFile amp::runtime::readTensorFile(const std::string &path) {
  return readTensors(mapFile(path), path);
}
