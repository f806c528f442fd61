//===- Launching.cpp - Launches and tensor maps ---------------------------===//
// A finding makes the launch fail, with an error whose text says it.
//===----------------------------------------------------------------------===//

#include "State.h"
#include "amp/PtxEmulator/Interpreter/TensorMap.h"
#include <cstring>

using namespace amp;
using namespace amp::ptx;

std::vector<uint8_t> amp::ptx::packParameters(const CUfunc_st *function,
                                              void **values) {
  std::vector<uint8_t> packed(function->kernel->getParameterBytes());
  size_t i = 0;
  for (const Parameter &parameter : function->kernel->getParameters())
    std::memcpy(packed.data() + parameter.offset, values[i++], parameter.bytes);
  return packed;
}

/// The error that the driver would give for what follows from a finding.
static cuda::Result getError(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
    return cuda::result::illegalAddress;
  case FindingKind::Misaligned:
    return cuda::result::misalignedAddress;
  case FindingKind::Hang:
    return cuda::result::launchTimeout;
  case FindingKind::Trap:
    return cuda::result::assertFailed;
  case FindingKind::Unsupported:
    return cuda::result::invalidValue;
  default:
    return cuda::result::launchFailed;
  }
}

static std::string checkShared(const CUfunc_st *function, unsigned bytes) {
  const ptx::Kernel &kernel = *function->kernel;
  if (bytes > function->maxDynamicShared)
    return "kernel '" + kernel.getName() + "' is launched with " +
           std::to_string(bytes) + " bytes of dynamic shared memory and " +
           std::to_string(function->maxDynamicShared) +
           " are allowed (cuFuncSetAttribute)";
  unsigned most = getMaxShared(Driver::get().options.capability);
  if (kernel.getStaticSharedBytes() + bytes > most)
    return "kernel '" + kernel.getName() +
           "' needs more shared memory than the device has";
  return "";
}

cuda::Result amp::ptx::launch(CUfunc_st *function, const unsigned grid[3],
                              const unsigned block[3], unsigned sharedBytes,
                              const std::vector<uint8_t> &parameters) {
  Driver &driver = Driver::get();
  if (driver.sticky)
    return driver.sticky;
  if (!driver.functions.count(function))
    return driver.fail(cuda::result::invalidHandle,
                       "the function's module is not loaded any more");
  std::string wrong = checkShared(function, sharedBytes);
  if (!wrong.empty())
    return driver.fail(cuda::result::invalidValue, wrong);
  Launch launch;
  std::copy(grid, grid + 3, launch.grid.begin());
  std::copy(block, block + 3, launch.block.begin());
  launch.dynamicShared = sharedBytes;
  launch.parameters = parameters.data();
  launch.threads = driver.options.threads;
  launch.checks = driver.options.checks;
  launch.seed = driver.options.seed;
  LaunchReport report = run(*function->kernel, launch, *driver.memory);
  driver.log.addLaunch(*function->kernel, report);
  if (report.findings.empty())
    return cuda::result::success;
  const Finding &first = report.findings.front();
  cuda::Result error = getError(first.kind);
  if (first.kind != FindingKind::Unsupported)
    driver.sticky = error;
  return driver.fail(error, describe(first));
}

AMP_DRIVER_API cuLaunchKernelEx(const cuda::LaunchConfig *config,
                                cuda::Function function, void **parameters,
                                void **extra) {
  AMP_DRIVER_ENTER();
  if (!config || extra)
    return cuda::result::invalidValue;
  if (!driver.functions.count(function))
    return cuda::result::invalidHandle;
  if (!parameters && function->kernel->getParameterBytes())
    return driver.fail(cuda::result::invalidValue,
                       "the kernel's parameters are missing");
  auto copy = *config;
  return enqueue(config->stream, [copy, function,
                                  packed =
                                      packParameters(function, parameters)] {
    return launch(function, copy.grid, copy.block, copy.sharedBytes, packed);
  });
}

AMP_DRIVER_API
cuTensorMapEncodeTiled(cuda::TensorMap *map, int dataType, uint32_t rank,
                       void *base, const uint64_t *sizes,
                       const uint64_t *strideBytes, const uint32_t *box,
                       const uint32_t *elementStrides, int interleave,
                       int swizzle, int l2Promotion, int outOfBoundsFill) {
  (void)l2Promotion;
  AMP_DRIVER_ENTER();
  if (!map || !sizes || !box || !elementStrides || (rank > 1 && !strideBytes))
    return cuda::result::invalidValue;
  if (rank < 1 || rank > maxTensorRank || interleave != 0 || dataType < 0 ||
      swizzle < 0)
    return driver.fail(cuda::result::invalidValue,
                       "tensor maps have rank 1 to 5 and no interleave here");
  ptx::TensorMap made;
  made.base = reinterpret_cast<uint64_t>(base);
  made.rank = rank;
  made.dataType = static_cast<uint32_t>(dataType);
  made.swizzle = static_cast<uint32_t>(swizzle);
  made.fillsNaN = outOfBoundsFill == 1;
  for (uint32_t i = 0; i < rank; ++i) {
    made.sizes[i] = sizes[i];
    made.strides[i] = i ? strideBytes[i - 1] : made.getElementBytes();
    made.box[i] = box[i];
    made.elementStrides[i] = elementStrides[i];
  }
  std::string wrong = made.check();
  if (!wrong.empty())
    return driver.fail(cuda::result::invalidValue, wrong);
  made.encode(map->opaque);
  return cuda::result::success;
}
