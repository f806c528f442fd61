//===- ChecksTest.cpp - Mistakes are found, and nothing else --------------===//
// Each test has a kernel that is right, and what happens when it is made wrong.
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace amp::ptx;

namespace {

const char *const inOut = ".param .u64 in, .param .u64 out";
const char *const sharedArray = ".shared .align 128 .b8 smem[4096];";

std::string replace(std::string text, const std::string &from,
                    const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Word i of `in` goes through shared memory to word (i + 32) % 64 of `out`.
const std::string exchange = makeKernel(inOut, R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.b32 %r2, [%rd4];
  mov.u32 %r3, smem;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r3, %r4;
  st.shared.b32 [%r5], %r2;
  bar.sync 0;
  xor.b32 %r6, %r4, 128;
  add.s32 %r7, %r3, %r6;
  ld.shared.b32 %r8, [%r7];
  add.s64 %rd5, %rd2, %rd3;
  st.global.b32 [%rd5], %r8;
)",
                                        "sm_80", sharedArray);

LaunchReport runExchange(const std::string &text, uint64_t seed = 7) {
  Machine machine(text);
  std::vector<uint32_t> in(64);
  for (uint32_t i = 0; i < 64; ++i)
    in[i] = i * i;
  uint64_t out = machine.allocate<uint32_t>(64);
  Launch launch = getLaunch(1, 64);
  launch.seed = seed;
  LaunchReport report = machine.launch("test", launch, machine.upload(in), out);
  if (report.findings.empty()) {
    std::vector<uint32_t> got = machine.download<uint32_t>(out, 64);
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(got[i], (i ^ 32) * (i ^ 32));
  }
  return report;
}

TEST(Checks, RightKernelIsClean) {
  for (uint64_t seed : {0, 1, 2, 3})
    EXPECT_TRUE(runExchange(exchange, seed).findings.empty());
}

/// Whatever warp comes first.
TEST(Checks, MissingBarrierIsARace) {
  std::string wrong = replace(exchange, "bar.sync 0;", "");
  for (uint64_t seed : {0, 1, 2, 3}) {
    LaunchReport report = runExchange(wrong, seed);
    EXPECT_TRUE(hasFinding(report, FindingKind::Race) ||
                hasFinding(report, FindingKind::Uninitialised))
        << seed;
  }
  // The first warp reads what nothing has written yet; the second writes what
  // was read.
  EXPECT_TRUE(hasFinding(runExchange(wrong, 0), FindingKind::Race));
}

TEST(Checks, FindingsNameThePlace) {
  LaunchReport report =
      runExchange(replace(exchange, "[%rd5], %r8", "[%rd5+4], %r8"));
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding &finding = report.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::OutOfBounds);
  EXPECT_EQ(finding.kernel, "test");
  EXPECT_EQ(finding.thread[0], 63u);
  EXPECT_EQ(finding.instruction, "st.global.b32 [%rd5+4], %r8;");
  EXPECT_EQ(finding.line, 29u);
}

TEST(Checks, Misaligned) {
  EXPECT_TRUE(hasFinding(runExchange(replace(exchange, "[%rd4]", "[%rd4+2]")),
                         FindingKind::Misaligned, "ld.global"));
  EXPECT_TRUE(hasFinding(runExchange(replace(exchange, "[%r7]", "[%r7+1]")),
                         FindingKind::Misaligned, "ld.shared"));
}

TEST(Checks, SharedBounds) {
  EXPECT_TRUE(hasFinding(runExchange(replace(exchange, "[%r7]", "[%r7+4096]")),
                         FindingKind::OutOfBounds, "shared memory"));
}

TEST(Checks, UninitialisedShared) {
  EXPECT_TRUE(hasFinding(runExchange(replace(exchange, "[%r7]", "[%r7+256]")),
                         FindingKind::Uninitialised, "ld.shared"));
}

TEST(Checks, UninitialisedGlobal) {
  EXPECT_TRUE(hasFinding(runExchange(replace(exchange, "add.s64 %rd4, %rd1",
                                             "add.s64 %rd4, %rd2")),
                         FindingKind::Uninitialised, "ld.global"));
}

TEST(Checks, BarrierInDivergentCode) {
  LaunchReport report = runExchange(replace(
      exchange, "bar.sync 0;", "setp.lt.u32 %p1, %r1, 40;\n@%p1 bar.sync 0;"));
  EXPECT_TRUE(hasFinding(report, FindingKind::Convergence, "divergent"));
}

TEST(Checks, BarrierThatOneWarpSkipsHangs) {
  LaunchReport report =
      runExchange(replace(exchange, "bar.sync 0;",
                          "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;"));
  EXPECT_TRUE(hasFinding(report, FindingKind::Hang, "barrier 1"));
}

/// Warps that have ended do not hold a barrier up.
TEST(Checks, ExitedWarpsCount) {
  Machine machine(makeKernel(inOut, R"(
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 32;
  @%p1 ret;
  bar.sync 0;
)"));
  machine.runClean("test", getLaunch(1, 96), uint64_t(0), uint64_t(0));
}

TEST(Checks, Membermask) {
  Machine machine(makeKernel(inOut, R"(
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 8;
  @!%p1 bra SKIP;
  shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
SKIP:
  bar.warp.sync -1;
)"));
  EXPECT_TRUE(hasFinding(
      machine.launch("test", getLaunch(1, 32), uint64_t(0), uint64_t(0)),
      FindingKind::Convergence, "shfl.sync"));
}

/// Lanes that come to a shuffle by two ways meet in it.
TEST(Checks, LanesMeetInAShuffle) {
  Machine machine(makeKernel(inOut, R"(
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r3, 1;
  setp.lt.u32 %p1, %r1, 8;
  @%p1 bra FAR;
MEET:
  add.s32 %r4, %r1, %r3;
  shfl.sync.bfly.b32 %r2, %r4, 8, 31, -1;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.b32 [%rd4], %r2;
  ret;
FAR:
  mov.u32 %r3, 100;
  bra MEET;
)"));
  uint64_t out = machine.allocate<uint32_t>(32);
  machine.runClean("test", getLaunch(1, 32), uint64_t(0), out);
  std::vector<uint32_t> got = machine.download<uint32_t>(out, 32);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t from = lane ^ 8;
    EXPECT_EQ(got[lane], from + (from < 8 ? 100 : 1));
  }
}

TEST(Checks, EndlessLoopIsStopped) {
  Machine machine(makeKernel(inOut, "LOOP:\nbra LOOP;\n"));
  Launch launch = getLaunch(1, 32);
  launch.maxInstructionsPerWarp = 3 << 20;
  EXPECT_TRUE(
      hasFinding(machine.launch("test", launch, uint64_t(0), uint64_t(0)),
                 FindingKind::Hang));
}

TEST(Checks, Trap) {
  Machine machine(makeKernel(inOut, "trap;"));
  EXPECT_TRUE(hasFinding(
      machine.launch("test", getLaunch(1, 32), uint64_t(0), uint64_t(0)),
      FindingKind::Trap));
}

TEST(Checks, GeometryMustSuit) {
  std::string text = replace(exchange, ")\n{", ")\n.reqntid 64, 1, 1\n{");
  Machine machine(text);
  EXPECT_TRUE(hasFinding(
      machine.launch("test", getLaunch(1, 32), uint64_t(0), uint64_t(0)),
      FindingKind::Unsupported, ".reqntid"));
}

/// Lanes of different warps that share a word but no byte do not race.
TEST(Checks, BytesOfAWordAreToldApart) {
  Machine machine(makeKernel(inOut, R"(
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, smem;
  shr.u32 %r3, %r1, 5;
  and.b32 %r4, %r1, 31;
  shl.b32 %r4, %r4, 2;
  add.s32 %r5, %r2, %r3;
  add.s32 %r5, %r5, %r4;
  mov.b16 %h1, 7;
  st.shared.b8 [%r5], %h1;
  ld.shared.u8 %h2, [%r5];
)",
                             "sm_80", sharedArray));
  machine.runClean("test", getLaunch(1, 64), uint64_t(0), uint64_t(0));
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

/// Every lane stores a word at tid * stride.
LaunchReport runStrided(unsigned stride, bool shared) {
  std::string body = "mov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, " +
                     std::to_string(stride) + ";\n";
  if (shared)
    body += "mov.u32 %r3, smem;\nadd.s32 %r4, %r3, %r2;\n"
            "st.shared.b32 [%r4], %r1;\n";
  else
    body += "ld.param.u64 %rd1, [out];\ncvt.u64.u32 %rd2, %r2;\n"
            "add.s64 %rd3, %rd1, %rd2;\nst.global.b32 [%rd3], %r1;\n";
  Machine machine(makeKernel(inOut, body, "sm_80", sharedArray));
  uint64_t out = machine.allocate<uint8_t>(4096);
  return machine.runClean("test", getLaunch(1, 32), uint64_t(0), out);
}

TEST(Counters, BankConflicts) {
  for (auto [stride, conflicts] :
       {std::pair{4u, 0u}, {8u, 1u}, {16u, 3u}, {128u, 31u}, {12u, 0u}}) {
    LaunchReport report = runStrided(stride, true);
    EXPECT_EQ(report.counters.bankConflicts, conflicts) << stride;
    ASSERT_EQ(report.lines.size(), 1u);
    EXPECT_EQ(report.lines[0].bankConflicts, conflicts);
    EXPECT_EQ(report.lines[0].instruction, "st.shared.b32 [%r4], %r1;");
  }
}

TEST(Counters, Sectors) {
  for (auto [stride, sectors] :
       {std::pair{4u, 4u}, {8u, 8u}, {32u, 32u}, {64u, 32u}}) {
    LaunchReport report = runStrided(stride, false);
    EXPECT_EQ(report.counters.globalSectors, sectors) << stride;
    EXPECT_EQ(report.counters.idealSectors, 4u);
    EXPECT_EQ(report.counters.bytesWritten, 128u);
  }
}

} // namespace
