//===- Safetensors.h - The safetensors format -------------------*- C++ -*-===//
// Strict reader (no holes, no overlaps, no duplicates) and writer.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_SAFETENSORS_H
#define AMP_RUNTIME_SAFETENSORS_H

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Files.h"
#include <map>

namespace amp::runtime {

using Metadata = std::map<std::string, std::string>;

struct TensorFile {
  std::vector<Array> arrays;
  Metadata metadata;
};

/// `name` is for messages.
TensorFile readSafetensors(const Bytes &bytes, const std::string &name);

/// Arrays are written in the order given, the data 64-byte aligned.
void writeSafetensors(AtomicWriter &out, const TensorFile &file);

} // namespace amp::runtime

#endif // AMP_RUNTIME_SAFETENSORS_H
