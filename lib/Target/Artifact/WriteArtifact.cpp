//===- WriteArtifact.cpp - A compiled step as a directory -----------------===//
//
// Checks what is to be written, then writes the files.
//
//===----------------------------------------------------------------------===//

#include "amp/Target/Artifact/WriteArtifact.h"
#include "Parts.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace amp;
using namespace amp::artifact;
using llvm::Error;

static Error checkTensor(const ArtifactTensor &tensor) {
  auto fail = [&](const Twine &what) {
    return llvm::createStringError("tensor '" + tensor.name + "' " + what);
  };
  if (tensor.name.empty())
    return llvm::createStringError("a tensor of role " + tensor.role +
                                   " has no name");
  if (getTypeNames(tensor.elementType).manifest.empty()) {
    std::string type;
    llvm::raw_string_ostream(type) << tensor.elementType;
    return fail("has the element type " + type +
                ", which artifacts do not have");
  }
  if (!tensor.isState())
    return Error::success();
  if (!tensor.init)
    return fail("has the role " + tensor.role + ", but no initial value");
  if (tensor.init.getElementType() != tensor.elementType ||
      tensor.init.getShapedType().getShape() != ArrayRef(tensor.shape))
    return fail("has an initial value of another type");
  return Error::success();
}

static Error checkTensors(const Artifact &artifact) {
  llvm::StringSet<> names;
  for (const ArtifactTensor &tensor : artifact.tensors) {
    if (Error error = checkTensor(tensor))
      return error;
    if (!names.insert(tensor.name).second)
      return llvm::createStringError("two tensors have the name '" +
                                     tensor.name + "'");
  }
  return Error::success();
}

using FillFile = llvm::function_ref<Error(AtomicFile &)>;

/// The library, or the kernels.
static Error writeCode(const Artifact &artifact, const ArtifactFolder &folder,
                       llvm::function_ref<Error(StringRef, FillFile)> write) {
  if (artifact.kind == Artifact::Kind::Cpu)
    return write(codeName,
                 [&](AtomicFile &file) { return file.write(artifact.code); });
  if (Error error = folder.addFolder(kernelsName))
    return error;
  for (const ArtifactKernel &kernel : artifact.kernels) {
    if (Error error = write(getKernelFile(kernel.name), [&](AtomicFile &file) {
          return file.write(StringRef(kernel.ptx));
        }))
      return error;
    for (const ArtifactBinary &binary : kernel.binaries)
      if (Error error =
              write(getKernelFile(kernel.name, binary.chip),
                    [&](AtomicFile &file) { return file.write(binary.bytes); }))
        return error;
  }
  return Error::success();
}

Error amp::writeArtifact(const Artifact &artifact, StringRef path) {
  if (Error error = checkTensors(artifact))
    return error;
  auto folder = ArtifactFolder::create(path);
  if (!folder)
    return folder.takeError();
  auto write = [&](StringRef name, FillFile fill) -> Error {
    auto file = AtomicFile::create((*folder)->getPath(name));
    if (!file)
      return file.takeError();
    if (Error error = fill(**file))
      return error;
    return AtomicFile::commit(file->get());
  };
  if (Error error = write(initName, [&](AtomicFile &file) {
        return writeSafetensors(artifact, file);
      }))
    return error;
  if (Error error = writeCode(artifact, **folder, write))
    return error;
  if (Error error = write(manifestName, [&](AtomicFile &file) {
        return file.write(StringRef(printManifest(artifact)));
      }))
    return error;
  return (*folder)->publish();
}
