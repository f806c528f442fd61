//===- RuntimeFuzzing.h - What the runtime's fuzzers share ------*- C++ -*-===//
// Bytes are read or refused by a Failure; anything else is a bug.
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_FUZZ_RUNTIMEFUZZING_H
#define AMP_TEST_FUZZ_RUNTIMEFUZZING_H

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Files.h"
#include <cstring>

namespace amp::runtime {

/// A copy of the size of the input, so that a read past its end is seen.
inline Bytes copyInput(const uint8_t *data, size_t size) {
  std::shared_ptr<char[]> memory(new char[size]);
  if (size)
    std::memcpy(memory.get(), data, size);
  return {std::string_view(memory.get(), size), memory};
}

/// Reads every byte of an array.
inline void touch(const Array &array) {
  if (getByteSize(array.dtype, array.shape) != array.bytes)
    __builtin_trap();
  volatile char sink = 0;
  for (size_t i = 0; i < array.bytes; ++i)
    sink = sink ^ array.data[i];
}

/// Runs `action`; a refusal must say something.
template <typename Action> void expectAnswer(Action action) {
  try {
    action();
  } catch (const Failure &failure) {
    if (!*failure.what())
      __builtin_trap();
  }
}

} // namespace amp::runtime

#endif // AMP_TEST_FUZZ_RUNTIMEFUZZING_H
