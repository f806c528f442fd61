//===- CheckpointFuzzer.cpp - Arbitrary bytes as a checkpoint -------------===//
// safetensors, npy, npz and torch files, told apart as the runtime does, and
// pickles.
//===----------------------------------------------------------------------===//

#include "../../lib/Runtime/Pickle.h"
#include "RuntimeFuzzing.h"
#include "amp/Runtime/Checkpoint.h"

using namespace amp::runtime;

static bool allowDictionaries(std::string_view name) {
  return name == "collections OrderedDict";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  expectAnswer([&] {
    TensorFile file = readTensors(copyInput(data, size), "input");
    for (const Array &array : file.arrays)
      touch(array);
  });
  // Inside a torch file a checksum keeps most changes from the pickle reader.
  expectAnswer([&] {
    std::string_view bytes(reinterpret_cast<const char *>(data), size);
    PickleReader reader(bytes, "input", allowDictionaries);
    reader.get(reader.read());
  });
  return 0;
}
