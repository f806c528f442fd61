//===- DriverTest.cpp - The stand-in for the driver -----------------------===//
// Modules, launches, graphs and errors through the driver's own functions.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Cuda/DriverApi.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

#define AMP_DECLARE(name, parameters)                                          \
  extern "C" amp::cuda::Result name parameters;
AMP_CUDA_FUNCTIONS(AMP_DECLARE)
AMP_CUDA_OPTIONAL_FUNCTIONS(AMP_DECLARE)

using namespace amp::cuda;

namespace {

/// out[i] = in[i] * factor for i < n.
const char *const scaleText = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 out, .param .u64 in, .param .f32 factor,
                      .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.f32 %f1, [factor];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.f32 %f2, [%rd4];
  mul.rn.f32 %f3, %f2, %f1;
  st.global.f32 [%rd5], %f3;
DONE:
  ret;
}
)";

std::string getErrorText(Result error) {
  const char *text = nullptr;
  cuGetErrorString(error, &text);
  return text ? text : "";
}

class Driver : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), result::success);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), result::success);
    ASSERT_EQ(cuCtxSetCurrent(context), result::success);
    ASSERT_EQ(cuModuleLoadDataEx(&module, scaleText, 0, nullptr, nullptr),
              result::success);
    ASSERT_EQ(cuModuleGetFunction(&scale, module, "scale"), result::success);
    ASSERT_EQ(cuMemAlloc_v2(&a, bytes), result::success);
    ASSERT_EQ(cuMemAlloc_v2(&b, bytes), result::success);
    for (unsigned i = 0; i < n; ++i)
      values.push_back(0.5f * i);
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(a, values.data(), bytes, nullptr),
              result::success);
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree_v2(a), result::success);
    EXPECT_EQ(cuMemFree_v2(b), result::success);
    EXPECT_EQ(cuModuleUnload(module), result::success);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), result::success);
  }

  Result runScale(DevicePtr to, DevicePtr from, float factor, unsigned count,
                  unsigned shared = 0) {
    void *parameters[] = {&to, &from, &factor, &count};
    LaunchConfig config{};
    config.grid[0] = (count + 127) / 128;
    config.block[0] = 128;
    config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
    config.sharedBytes = shared;
    return cuLaunchKernelEx(&config, scale, parameters, nullptr);
  }
  std::vector<float> read(DevicePtr from) {
    std::vector<float> got(n);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(got.data(), from, bytes, nullptr),
              result::success);
    return got;
  }
  GraphNode addScale(Graph graph, std::vector<GraphNode> after, DevicePtr to,
                     DevicePtr from, float factor) {
    unsigned count = n;
    void *parameters[] = {&to, &from, &factor, &count};
    KernelNodeParams params{};
    params.function = scale;
    params.grid[0] = (n + 127) / 128;
    params.block[0] = 128;
    params.grid[1] = params.grid[2] = params.block[1] = params.block[2] = 1;
    params.parameters = parameters;
    GraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, after.data(), after.size(),
                                      &params),
              result::success);
    return node;
  }

  static constexpr unsigned n = 300;
  static constexpr size_t bytes = n * sizeof(float);
  Context context = nullptr;
  Module module = nullptr;
  Function scale = nullptr;
  DevicePtr a = 0, b = 0;
  std::vector<float> values;
};

TEST_F(Driver, RunsKernel) {
  ASSERT_EQ(runScale(b, a, 3, n), result::success);
  std::vector<float> got = read(b);
  for (unsigned i = 0; i < n; ++i)
    EXPECT_EQ(got[i], values[i] * 3);
}

TEST_F(Driver, OutOfBoundsFailsAndSticks) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(runScale(b, a, 3, n + 1), result::illegalAddress);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("out-of-bounds"),
            std::string::npos);
  std::string text = getErrorText(result::illegalAddress);
  for (const char *part :
       {"scale, line 24", "block (2,0,0)", "thread (44,0,0)", "ld.global.f32"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(cuStreamSynchronize(nullptr), result::illegalAddress);
  EXPECT_EQ(runScale(b, a, 3, n), result::illegalAddress);
}

TEST_F(Driver, UninitialisedReadFails) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(runScale(a, b, 3, n), result::launchFailed);
  testing::internal::GetCapturedStderr();
  EXPECT_NE(getErrorText(result::launchFailed).find("nothing has written"),
            std::string::npos);
}

TEST_F(Driver, GraphFollowsItsEdges) {
  Graph graph;
  ASSERT_EQ(cuGraphCreate(&graph, 0), result::success);
  GraphNode first = addScale(graph, {}, b, a, 2);
  GraphNode second = addScale(graph, {first}, b, b, 3);
  addScale(graph, {second}, a, b, 1);
  GraphInstantiateParams params{};
  GraphExec exec;
  ASSERT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params),
            result::success);
  ASSERT_EQ(cuGraphDestroy(graph), result::success);
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), result::success);
  std::vector<float> got = read(a);
  for (unsigned i = 0; i < n; ++i)
    EXPECT_EQ(got[i], values[i] * 6);
  EXPECT_EQ(cuGraphExecDestroy(exec), result::success);
}

/// Without the edge some order reads what is not written yet.
TEST_F(Driver, GraphWithoutEdgeIsSeen) {
  Graph graph;
  ASSERT_EQ(cuGraphCreate(&graph, 0), result::success);
  addScale(graph, {}, b, a, 2);
  addScale(graph, {}, a, b, 1);
  GraphInstantiateParams params{};
  bool failed = false;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20 && !failed; ++i) {
    GraphExec exec;
    ASSERT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params),
              result::success);
    failed = cuGraphLaunch(exec, nullptr) != result::success;
    cuGraphExecDestroy(exec);
    cuMemFree_v2(b);
    ASSERT_EQ(cuMemAlloc_v2(&b, bytes), result::success);
    if (!failed) { // the graph holds the old address
      cuGraphDestroy(graph);
      ASSERT_EQ(cuGraphCreate(&graph, 0), result::success);
      addScale(graph, {}, b, a, 2);
      addScale(graph, {}, a, b, 1);
    }
  }
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(failed);
  cuGraphDestroy(graph);
}

TEST_F(Driver, CycleIsRefused) {
  Graph graph;
  ASSERT_EQ(cuGraphCreate(&graph, 0), result::success);
  GraphNode first = addScale(graph, {}, b, a, 2);
  GraphNode second = addScale(graph, {first}, a, b, 2);
  ASSERT_EQ(cuGraphAddDependencies(graph, &second, &first, 1), result::success);
  GraphInstantiateParams params{};
  GraphExec exec;
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params),
            result::invalidValue);
  cuGraphDestroy(graph);
}

TEST_F(Driver, CaptureRecordsWork) {
  Graph graph, ended;
  Stream stream;
  ASSERT_EQ(cuGraphCreate(&graph, 0), result::success);
  ASSERT_EQ(cuStreamCreate(&stream, streamNonBlocking), result::success);
  ASSERT_EQ(cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0,
                                        captureRelaxed),
            result::success);
  ASSERT_EQ(cuMemcpyDtoDAsync_v2(b, a, bytes, stream), result::success);
  ASSERT_EQ(cuMemsetD8Async(a, 0, bytes, stream), result::success);
  ASSERT_EQ(cuStreamEndCapture(stream, &ended), result::success);
  EXPECT_EQ(ended, graph);
  EXPECT_EQ(read(a), values);
  GraphInstantiateParams params{};
  GraphExec exec;
  ASSERT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params),
            result::success);
  ASSERT_EQ(cuGraphLaunch(exec, stream), result::success);
  EXPECT_EQ(read(b), values);
  EXPECT_EQ(read(a), std::vector<float>(n, 0));
  cuGraphExecDestroy(exec);
  cuGraphDestroy(graph);
  cuStreamDestroy_v2(stream);
}

TEST_F(Driver, CompiledImagesAreRefused) {
  const unsigned char cubin[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0};
  Module other;
  EXPECT_EQ(cuModuleLoadDataEx(&other, cubin, 0, nullptr, nullptr),
            result::noBinaryForGpu);
}

TEST_F(Driver, PtxErrorsReachTheLog) {
  std::string text = scaleText;
  size_t at = text.find("mul.rn.f32");
  text.replace(at, 10, "mul.zz.f32");
  char log[200] = "";
  int options[] = {jitOption::errorLogBuffer, jitOption::errorLogBufferBytes};
  void *optionValues[] = {log, reinterpret_cast<void *>(sizeof(log))};
  Module other;
  EXPECT_EQ(cuModuleLoadDataEx(&other, text.c_str(), 2, options, optionValues),
            result::invalidPtx);
  EXPECT_STREQ(log, "line 25: instruction 'mul.zz.f32' is not known to the "
                    "emulator");
}

TEST_F(Driver, NewerTargetsAreRefused) {
  std::string text = scaleText;
  text.replace(text.find("sm_80"), 5, "sm_90a");
  Module other;
  EXPECT_EQ(cuModuleLoadDataEx(&other, text.c_str(), 0, nullptr, nullptr),
            result::invalidPtx);
  EXPECT_NE(getErrorText(result::invalidPtx).find("AMP_EMULATOR_CC"),
            std::string::npos);
}

TEST_F(Driver, DynamicSharedMemoryMustBeAllowed) {
  EXPECT_EQ(runScale(b, a, 1, n, 50000), result::invalidValue);
  EXPECT_EQ(cuFuncSetAttribute(scale, functionAttribute::maxDynamicSharedBytes,
                               50000),
            result::success);
  EXPECT_EQ(runScale(b, a, 1, n, 50000), result::success);
  EXPECT_EQ(cuFuncSetAttribute(scale, functionAttribute::maxDynamicSharedBytes,
                               1 << 20),
            result::invalidValue);
}

TEST_F(Driver, WrongArgumentsAreRefused) {
  DevicePtr memory;
  EXPECT_EQ(cuMemAlloc_v2(&memory, size_t(1) << 50), result::outOfMemory);
  EXPECT_EQ(cuMemFree_v2(a + 4), result::invalidValue);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(a, values.data(), bytes + 4, nullptr),
            result::invalidValue);
  EXPECT_EQ(cuGraphLaunch(nullptr, nullptr), result::invalidHandle);
  EXPECT_EQ(cuModuleGetFunction(&scale, module, "other"), result::notFound);
  Device device;
  EXPECT_EQ(cuDeviceGet(&device, 1), result::invalidDevice);
}

} // namespace
