//===- NpzFuzzer.cpp - Arbitrary bytes as an npz file ---------------------===//
// The zip reader with the npy reader, and the npy reader alone.
//===----------------------------------------------------------------------===//

#include "RuntimeFuzzing.h"
#include "amp/Runtime/Npy.h"

using namespace amp::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  expectAnswer([&] {
    for (const Array &array : readNpz(copyInput(data, size), "input"))
      touch(array);
  });
  expectAnswer(
      [&] { touch(readNpy(copyInput(data, size), "array", "input")); });
  return 0;
}
