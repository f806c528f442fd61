//===- TorchFile.h - Tensors of a torch .pt file ----------------*- C++ -*-===//
// Reads a state_dict without executing anything.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_TORCHFILE_H
#define AMP_RUNTIME_TORCHFILE_H

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Zip.h"

namespace amp::runtime {

/// The tensors of what torch.save wrote of a dictionary of tensors, or of
/// dictionaries of them (keys joined by dots). Whatever else the pickle asks
/// for is refused by name; numbers, texts and lists in it are skipped.
std::vector<Array> readTorchFile(const ZipReader &zip, const std::string &file);

} // namespace amp::runtime

#endif // AMP_RUNTIME_TORCHFILE_H
