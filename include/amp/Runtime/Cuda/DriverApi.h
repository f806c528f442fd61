//===- DriverApi.h - The CUDA driver as this project sees it ----*- C++ -*-===//
// Names, signatures and layouts of the driver functions in use, as libcuda.so.1
// exports them since CUDA 12.4. No toolkit is needed to build against them.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CUDA_DRIVERAPI_H
#define AMP_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace amp::cuda {

/// The least driver that has all functions below: 12.4.
inline constexpr int minDriverVersion = 12040;

using Result = int;
using Device = int;
using DevicePtr = unsigned long long;
// Handles are named as the driver's own header names them, so that a library
// that implements the functions may define what is behind them.
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Kernel = struct CUkern_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphNode = struct CUgraphNode_st *;
using GraphExec = struct CUgraphExec_st *;

// CUresult.
namespace result {
enum : Result {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  stubLibrary = 34,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  unsupportedPtxVersion = 222,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  launchOutOfResources = 701,
  launchTimeout = 702,
  assertFailed = 710,
  hardwareStackError = 714,
  illegalInstruction = 715,
  misalignedAddress = 716,
  invalidAddressSpace = 717,
  invalidPc = 718,
  launchFailed = 719,
  notSupported = 801,
  systemDriverMismatch = 803,
  compatNotSupported = 804,
  unknown = 999
};
} // namespace result

// CUdevice_attribute.
namespace deviceAttribute {
enum : int {
  maxThreadsPerBlock = 1,
  warpSize = 10,
  clockRateKHz = 13,
  multiprocessorCount = 16,
  l2CacheBytes = 38,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76,
  maxSharedPerBlockOptin = 97
};
} // namespace deviceAttribute

// CUfunction_attribute.
namespace functionAttribute {
enum : int {
  maxThreadsPerBlock = 0,
  sharedBytes = 1,
  localBytes = 3,
  numRegisters = 4,
  maxDynamicSharedBytes = 8
};
} // namespace functionAttribute

// CUjit_option: the two that ask for a log.
namespace jitOption {
enum : int { errorLogBuffer = 5, errorLogBufferBytes = 6 };
} // namespace jitOption

enum : unsigned { streamNonBlocking = 1, eventDisableTiming = 2 };
// CUmemorytype.
enum : int { memoryHost = 1, memoryDevice = 2 };
// CUstreamCaptureMode.
enum : int { captureRelaxed = 2 };

/// CUuuid.
struct Uuid {
  char bytes[16];
};

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  Function function;
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  /// One pointer to the value of each parameter; copied by the call.
  void **parameters;
  void **extra;
  Kernel kernel;
  Context context;
};

/// CUDA_MEMSET_NODE_PARAMS_v1.
struct MemsetNodeParams {
  DevicePtr target;
  size_t pitch;
  unsigned value;
  /// 1, 2 or 4.
  unsigned elementBytes;
  size_t width;
  size_t height;
};

/// One side of CUDA_MEMCPY3D_v2.
struct CopyEnd {
  size_t xBytes, y, z, lod;
  int memoryType;
  void *host;
  DevicePtr device;
  void *array;
  void *reserved;
  size_t pitch, height;
};

/// CUDA_MEMCPY3D_v2.
struct CopyParams {
  CopyEnd source;
  CopyEnd target;
  size_t widthBytes, height, depth;
};

/// CUDA_GRAPH_INSTANTIATE_PARAMS.
struct GraphInstantiateParams {
  uint64_t flags;
  Stream uploadStream;
  GraphNode errorNode;
  int outcome;
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  Stream stream;
  void *attributes;
  unsigned numAttributes;
};

/// CUgraphEdgeData.
struct GraphEdgeData {
  unsigned char fromPort, toPort, type, reserved[5];
};

/// CUtensorMap.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

static_assert(sizeof(KernelNodeParams) == 72 && sizeof(CopyEnd) == 88 &&
                  sizeof(CopyParams) == 200 && sizeof(MemsetNodeParams) == 40 &&
                  sizeof(GraphInstantiateParams) == 32 &&
                  sizeof(LaunchConfig) == 56,
              "layouts of the driver");

/// Calls X(name, (parameters)) for every function a driver must have; all
/// return a Result.
#define AMP_CUDA_FUNCTIONS(X)                                                  \
  X(cuInit, (unsigned flags))                                                  \
  X(cuDriverGetVersion, (int *version))                                        \
  X(cuGetErrorName, (amp::cuda::Result error, const char **text))              \
  X(cuGetErrorString, (amp::cuda::Result error, const char **text))            \
  X(cuDeviceGetCount, (int *count))                                            \
  X(cuDeviceGet, (amp::cuda::Device * device, int ordinal))                    \
  X(cuDeviceGetName, (char *name, int length, amp::cuda::Device device))       \
  X(cuDeviceGetAttribute,                                                      \
    (int *value, int attribute, amp::cuda::Device device))                     \
  X(cuDeviceTotalMem_v2, (size_t *bytes, amp::cuda::Device device))            \
  X(cuDeviceGetUuid_v2, (amp::cuda::Uuid * uuid, amp::cuda::Device device))    \
  X(cuDevicePrimaryCtxRetain,                                                  \
    (amp::cuda::Context * context, amp::cuda::Device device))                  \
  X(cuDevicePrimaryCtxRelease_v2, (amp::cuda::Device device))                  \
  X(cuCtxGetCurrent, (amp::cuda::Context * context))                           \
  X(cuCtxSetCurrent, (amp::cuda::Context context))                             \
  X(cuModuleLoadDataEx, (amp::cuda::Module * module, const void *image,        \
                         unsigned numOptions, int *options, void **values))    \
  X(cuModuleUnload, (amp::cuda::Module module))                                \
  X(cuModuleGetFunction, (amp::cuda::Function * function,                      \
                          amp::cuda::Module module, const char *name))         \
  X(cuFuncSetAttribute,                                                        \
    (amp::cuda::Function function, int attribute, int value))                  \
  X(cuFuncGetAttribute,                                                        \
    (int *value, int attribute, amp::cuda::Function function))                 \
  X(cuMemAlloc_v2, (amp::cuda::DevicePtr * memory, size_t bytes))              \
  X(cuMemFree_v2, (amp::cuda::DevicePtr memory))                               \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))             \
  X(cuMemFreeHost, (void *memory))                                             \
  X(cuMemGetInfo_v2, (size_t *free, size_t *total))                            \
  X(cuMemcpyHtoDAsync_v2, (amp::cuda::DevicePtr target, const void *source,    \
                           size_t bytes, amp::cuda::Stream stream))            \
  X(cuMemcpyDtoHAsync_v2, (void *target, amp::cuda::DevicePtr source,          \
                           size_t bytes, amp::cuda::Stream stream))            \
  X(cuMemcpyDtoDAsync_v2,                                                      \
    (amp::cuda::DevicePtr target, amp::cuda::DevicePtr source, size_t bytes,   \
     amp::cuda::Stream stream))                                                \
  X(cuMemsetD8Async, (amp::cuda::DevicePtr target, unsigned char value,        \
                      size_t bytes, amp::cuda::Stream stream))                 \
  X(cuStreamCreate, (amp::cuda::Stream * stream, unsigned flags))              \
  X(cuStreamDestroy_v2, (amp::cuda::Stream stream))                            \
  X(cuStreamSynchronize, (amp::cuda::Stream stream))                           \
  X(cuStreamWaitEvent,                                                         \
    (amp::cuda::Stream stream, amp::cuda::Event event, unsigned flags))        \
  X(cuEventCreate, (amp::cuda::Event * event, unsigned flags))                 \
  X(cuEventDestroy_v2, (amp::cuda::Event event))                               \
  X(cuEventRecord, (amp::cuda::Event event, amp::cuda::Stream stream))         \
  X(cuEventSynchronize, (amp::cuda::Event event))                              \
  X(cuEventQuery, (amp::cuda::Event event))                                    \
  X(cuEventElapsedTime,                                                        \
    (float *milliseconds, amp::cuda::Event start, amp::cuda::Event end))       \
  X(cuLaunchKernelEx,                                                          \
    (const amp::cuda::LaunchConfig *config, amp::cuda::Function function,      \
     void **parameters, void **extra))                                         \
  X(cuGraphCreate, (amp::cuda::Graph * graph, unsigned flags))                 \
  X(cuGraphDestroy, (amp::cuda::Graph graph))                                  \
  X(cuGraphAddKernelNode_v2,                                                   \
    (amp::cuda::GraphNode * node, amp::cuda::Graph graph,                      \
     const amp::cuda::GraphNode *after, size_t numAfter,                       \
     const amp::cuda::KernelNodeParams *params))                               \
  X(cuGraphAddMemcpyNode,                                                      \
    (amp::cuda::GraphNode * node, amp::cuda::Graph graph,                      \
     const amp::cuda::GraphNode *after, size_t numAfter,                       \
     const amp::cuda::CopyParams *params, amp::cuda::Context context))         \
  X(cuGraphAddMemsetNode,                                                      \
    (amp::cuda::GraphNode * node, amp::cuda::Graph graph,                      \
     const amp::cuda::GraphNode *after, size_t numAfter,                       \
     const amp::cuda::MemsetNodeParams *params, amp::cuda::Context context))   \
  X(cuGraphAddDependencies,                                                    \
    (amp::cuda::Graph graph, const amp::cuda::GraphNode *from,                 \
     const amp::cuda::GraphNode *to, size_t count))                            \
  X(cuGraphInstantiateWithParams,                                              \
    (amp::cuda::GraphExec * exec, amp::cuda::Graph graph,                      \
     amp::cuda::GraphInstantiateParams * params))                              \
  X(cuGraphExecKernelNodeSetParams_v2,                                         \
    (amp::cuda::GraphExec exec, amp::cuda::GraphNode node,                     \
     const amp::cuda::KernelNodeParams *params))                               \
  X(cuGraphExecDestroy, (amp::cuda::GraphExec exec))                           \
  X(cuGraphUpload, (amp::cuda::GraphExec exec, amp::cuda::Stream stream))      \
  X(cuGraphLaunch, (amp::cuda::GraphExec exec, amp::cuda::Stream stream))

/// The same for functions that not every driver needs to have; the runtime says
/// so when one is missing that an artifact needs.
#define AMP_CUDA_OPTIONAL_FUNCTIONS(X)                                         \
  X(cuStreamBeginCaptureToGraph,                                               \
    (amp::cuda::Stream stream, amp::cuda::Graph graph,                         \
     const amp::cuda::GraphNode *after, const amp::cuda::GraphEdgeData *edges, \
     size_t numAfter, int mode))                                               \
  X(cuStreamEndCapture, (amp::cuda::Stream stream, amp::cuda::Graph * graph))  \
  X(cuTensorMapEncodeTiled,                                                    \
    (amp::cuda::TensorMap * map, int dataType, uint32_t rank, void *base,      \
     const uint64_t *sizes, const uint64_t *strideBytes, const uint32_t *box,  \
     const uint32_t *elementStrides, int interleave, int swizzle,              \
     int l2Promotion, int outOfBoundsFill))

} // namespace amp::cuda

#endif // AMP_RUNTIME_CUDA_DRIVERAPI_H
