//===- Exports.cpp - The functions are those the runtime declares ---------===//
// A function that is missing, or has other parameters, does not compile.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Cuda/DriverApi.h"

#define AMP_DECLARE(name, parameters)                                          \
  extern "C" amp::cuda::Result name parameters;
#define AMP_REFER(name, parameters)                                            \
  reinterpret_cast<void (*)()>(                                                \
      static_cast<amp::cuda::Result(*) parameters>(name)),

AMP_CUDA_FUNCTIONS(AMP_DECLARE)
AMP_CUDA_OPTIONAL_FUNCTIONS(AMP_DECLARE)

/// Refers to every function, so that the library does not link without one.
extern "C" __attribute__((
    visibility("default"))) void (*const ampCudaEmulatorFunctions[])() = {
    AMP_CUDA_FUNCTIONS(AMP_REFER) AMP_CUDA_OPTIONAL_FUNCTIONS(AMP_REFER)};
