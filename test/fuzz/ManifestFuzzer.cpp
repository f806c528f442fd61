//===- ManifestFuzzer.cpp - Arbitrary text as a manifest ------------------===//
// What is accepted keeps the promises that the rest of the runtime builds on.
//===----------------------------------------------------------------------===//

#include "RuntimeFuzzing.h"
#include "amp/Runtime/Manifest.h"
#include "amp/Runtime/Schedule.h"

using namespace amp::runtime;

static void check(const Manifest &manifest) {
  for (const EntryInfo &entry : manifest.entries)
    for (size_t id : entry.tensors)
      if (id >= manifest.tensors.size())
        __builtin_trap();
  for (size_t id = 0; id < manifest.tensors.size(); ++id) {
    const TensorInfo &tensor = manifest.tensors[id];
    if (manifest.findTensor(tensor.name) != id ||
        getByteSize(tensor.dtype, tensor.shape) != tensor.bytes)
      __builtin_trap();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes bytes = copyInput(data, size);
  expectAnswer([&] {
    Manifest manifest = parseManifest(bytes.view);
    check(manifest);
    JsonCursor config(manifest.config, "train.json");
    double factor = Schedule::parse(config).getFactor(1234);
    if (!(factor >= 0))
      __builtin_trap();
  });
  return 0;
}
