//===- AsyncTest.cpp - cp.async, mbarrier, bulk copies --------------------===//
// Right kernels give what plain loops give; without a wait, a fence or an edge
// they are found out.
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "amp/PtxEmulator/Interpreter/TensorMap.h"

using namespace amp::ptx;

namespace {

const char *const inOut = ".param .u64 in, .param .u64 out";
const char *const sharedArray = ".shared .align 1024 .b8 smem[16384];\n"
                                ".shared .align 8 .b64 bar;";

std::string replace(std::string text, const std::string &from,
                    const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::vector<uint32_t> countUp(size_t n) {
  std::vector<uint32_t> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<uint32_t>(i * 3 + 1);
  return values;
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

/// Two groups; thread t reads what thread t ^ 32 copied, of both.
const std::string pipeline = makeKernel(inOut, R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 4;
  cvt.u64.u32 %rd3, %r2;
  add.s64 %rd4, %rd1, %rd3;
  mov.u32 %r3, smem;
  add.s32 %r4, %r3, %r2;
  cp.async.cg.shared.global [%r4], [%rd4], 16;
  cp.async.commit_group;
  cp.async.ca.shared.global [%r4+2048], [%rd4+1024], 16, 8;
  cp.async.commit_group;
  cp.async.wait_group 1;
  bar.sync 0;
  xor.b32 %r5, %r2, 512;
  add.s32 %r6, %r3, %r5;
  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r6];
  cp.async.wait_group 0;
  bar.sync 0;
  ld.shared.v4.b32 {%r14, %r15, %r16, %r17}, [%r6+2048];
  add.s64 %rd5, %rd2, %rd3;
  st.global.v4.b32 [%rd5], {%r10, %r11, %r12, %r13};
  st.global.v4.b32 [%rd5+1024], {%r14, %r15, %r16, %r17};
)",
                                        "sm_80", sharedArray);

LaunchReport runPipeline(const std::string &text) {
  Machine machine(text);
  std::vector<uint32_t> in = countUp(512);
  uint64_t out = machine.allocate<uint32_t>(512);
  LaunchReport report =
      machine.launch("test", getLaunch(1, 64), machine.upload(in), out);
  if (!report.findings.empty())
    return report;
  std::vector<uint32_t> got = machine.download<uint32_t>(out, 512);
  for (uint32_t t = 0; t < 64; ++t)
    for (uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got[t * 4 + i], in[(t ^ 32) * 4 + i]);
      EXPECT_EQ(got[256 + t * 4 + i], i < 2 ? in[256 + (t ^ 32) * 4 + i] : 0);
    }
  return report;
}

TEST(AsyncCopy, LandsAtItsWait) {
  LaunchReport report = runPipeline(pipeline);
  for (const Finding &finding : report.findings)
    ADD_FAILURE() << describe(finding);
  EXPECT_EQ(report.counters.asyncCopies, 4u);
  EXPECT_EQ(report.counters.bankConflicts, 0u);
}

TEST(AsyncCopy, WeakWaitIsFound) {
  EXPECT_TRUE(
      hasFinding(runPipeline(replace(pipeline, "wait_group 1", "wait_group 2")),
                 FindingKind::AsyncCopy, "not delivered"));
  EXPECT_TRUE(
      hasFinding(runPipeline(replace(pipeline, "cp.async.wait_group 0;", "")),
                 FindingKind::AsyncCopy));
}

TEST(AsyncCopy, MissingBarrierIsFound) {
  LaunchReport report = runPipeline(replace(pipeline, "bar.sync 0;", ""));
  EXPECT_TRUE(hasFinding(report, FindingKind::AsyncCopy) ||
              hasFinding(report, FindingKind::Race) ||
              hasFinding(report, FindingKind::Uninitialised));
}

TEST(AsyncCopy, BoundsAreChecked) {
  EXPECT_TRUE(
      hasFinding(runPipeline(replace(pipeline, "[%rd4+1024]", "[%rd4+2048]")),
                 FindingKind::OutOfBounds, "cp.async"));
}

//===----------------------------------------------------------------------===//
// mbarrier and bulk copies of bytes
//===----------------------------------------------------------------------===//

/// Thread 0 lets 1024 bytes come; all wait for them; 1024 bytes go back.
const std::string bulk = makeKernel(inOut, R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, smem;
  mov.u32 %r3, bar;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
  bar.sync 0;
  @!%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 1024, [%r3];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  shl.b32 %r4, %r1, 4;
  add.s32 %r5, %r2, %r4;
  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r5];
  add.s32 %r10, %r10, 5;
  st.shared.v4.b32 [%r5], {%r10, %r11, %r12, %r13};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p1 bra END;
  cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 1024;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
)",
                                    "sm_90", sharedArray);

LaunchReport runBulk(const std::string &text) {
  Machine machine(text);
  std::vector<uint32_t> in = countUp(256);
  uint64_t out = machine.allocate<uint32_t>(256);
  LaunchReport report =
      machine.launch("test", getLaunch(1, 64), machine.upload(in), out);
  if (!report.findings.empty())
    return report;
  std::vector<uint32_t> got = machine.download<uint32_t>(out, 256);
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(got[i], in[i] + (i % 4 ? 0 : 5));
  return report;
}

TEST(Bulk, ThereAndBack) {
  LaunchReport report = runBulk(bulk);
  for (const Finding &finding : report.findings)
    ADD_FAILURE() << describe(finding);
  EXPECT_EQ(report.counters.tensorCopies, 2u);
}

TEST(Bulk, MistakesAreFound) {
  EXPECT_TRUE(hasFinding(runBulk(replace(bulk, "@!%p2 bra WAIT;", "")),
                         FindingKind::AsyncCopy, "not delivered"));
  EXPECT_TRUE(
      hasFinding(runBulk(replace(bulk, "fence.proxy.async.shared::cta;", "")),
                 FindingKind::Proxy, "fence.proxy.async"));
  EXPECT_TRUE(
      hasFinding(runBulk(replace(bulk, "_, [%r3], 1024", "_, [%r3], 2048")),
                 FindingKind::Hang));
  EXPECT_TRUE(
      hasFinding(runBulk(replace(bulk, "cp.async.bulk.wait_group 0;", "")),
                 FindingKind::AsyncCopy, "bulk copies"));
  LaunchReport early = runBulk(replace(bulk, "bar.sync 0;", ""));
  EXPECT_TRUE(
      hasFinding(early, FindingKind::Barrier, "no initialised mbarrier") ||
      hasFinding(early, FindingKind::Race, "mbarrier's init"));
}

/// Producer and consumers hand one buffer to and fro by two mbarriers.
const std::string ring = makeKernel(inOut, R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, smem;
  mov.u32 %r3, bar;
  mov.u32 %r4, empty;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [%r3], 32;
  @%p1 mbarrier.init.shared.b64 [%r4], 32;
  bar.sync 0;
  mov.u32 %r5, 0;
  and.b32 %r6, %r1, 31;
  shl.b32 %r7, %r6, 2;
  add.s32 %r8, %r2, %r7;
  cvt.u64.u32 %rd3, %r7;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra CONSUME;
PRODUCE:
  and.b32 %r9, %r5, 1;
  xor.b32 %r9, %r9, 1;
FREE:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], %r9;
  @!%p3 bra FREE;
  ld.global.b32 %r10, [%rd4];
  st.shared.b32 [%r8], %r10;
  mbarrier.arrive.shared.b64 %rd10, [%r3];
  add.s64 %rd4, %rd4, 128;
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p4, %r5, 8;
  @%p4 bra PRODUCE;
  bra END;
CONSUME:
  and.b32 %r9, %r5, 1;
FULL:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r9;
  @!%p3 bra FULL;
  xor.b32 %r11, %r7, 64;
  add.s32 %r11, %r2, %r11;
  ld.shared.b32 %r10, [%r11];
  mbarrier.arrive.shared.b64 %rd10, [%r4];
  st.global.b32 [%rd5], %r10;
  add.s64 %rd5, %rd5, 128;
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p4, %r5, 8;
  @%p4 bra CONSUME;
END:
)",
                                    "sm_80",
                                    ".shared .align 128 .b8 smem[128];\n"
                                    ".shared .align 8 .b64 bar;\n"
                                    ".shared .align 8 .b64 empty;");

LaunchReport runRing(const std::string &text) {
  Machine machine(text);
  std::vector<uint32_t> in = countUp(256);
  uint64_t out = machine.allocate<uint32_t>(256);
  LaunchReport report =
      machine.launch("test", getLaunch(1, 64), machine.upload(in), out);
  if (!report.findings.empty())
    return report;
  std::vector<uint32_t> got = machine.download<uint32_t>(out, 256);
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(got[i], in[i ^ 16]);
  return report;
}

TEST(Mbarrier, Ring) {
  for (const Finding &finding : runRing(ring).findings)
    ADD_FAILURE() << describe(finding);
}

TEST(Mbarrier, MistakesInTheRing) {
  // Not waiting for the buffer to be free, or to be full. What is seen first
  // depends on the order of the warps.
  for (const char *wait : {"@!%p3 bra FREE;", "@!%p3 bra FULL;"})
    EXPECT_FALSE(runRing(replace(ring, wait, "")).findings.empty()) << wait;
  // Nobody frees the buffer.
  EXPECT_TRUE(hasFinding(
      runRing(replace(ring, "mbarrier.arrive.shared.b64 %rd10, [%r4];", "")),
      FindingKind::Hang));
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

TensorMap makeMap(uint64_t base, uint32_t rows, uint32_t columns,
                  uint32_t boxRows, uint32_t boxColumns, uint32_t swizzle) {
  TensorMap map;
  map.base = base;
  map.rank = 2;
  map.dataType = 6; // f16
  map.swizzle = swizzle;
  map.sizes[0] = columns;
  map.sizes[1] = rows;
  map.strides[0] = 2;
  map.strides[1] = columns * 2;
  map.box[0] = boxColumns;
  map.box[1] = boxRows;
  map.elementStrides[0] = map.elementStrides[1] = 1;
  return map;
}

struct EncodedMap {
  explicit EncodedMap(const TensorMap &map) {
    EXPECT_EQ(map.check(), "");
    map.encode(bytes);
  }
  alignas(64) uint8_t bytes[tensorMapBytes];
};

/// Loads the box at (x, y); every thread stores 16 bytes of shared memory as
/// they lie; then the box goes to the second map at (x, y).
const std::string tile = makeKernel(
    ".param .align 64 .b8 from[128], .param .align 64 .b8 to[128], "
    ".param .u64 out, .param .u32 x, .param .u32 y, .param .u32 bytes",
    R"(
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r20, [x];
  ld.param.u32 %r21, [y];
  ld.param.u32 %r22, [bytes];
  mov.b64 %rd5, from;
  mov.b64 %rd6, to;
  cvta.param.u64 %rd7, %rd5;
  cvta.param.u64 %rd8, %rd6;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, smem;
  mov.u32 %r3, bar;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
  bar.sync 0;
  @!%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], %r22;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd7, {%r20, %r21}], [%r3];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  shl.b32 %r4, %r1, 4;
  setp.ge.u32 %p3, %r4, %r22;
  @%p3 bra STORE;
  add.s32 %r5, %r2, %r4;
  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r5];
  cvt.u64.u32 %rd3, %r4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.v4.b32 [%rd4], {%r10, %r11, %r12, %r13};
STORE:
  bar.sync 0;
  @!%p1 bra END;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd8, {%r20, %r21}], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
END:
)",
    "sm_90", sharedArray);

void testTile(uint32_t boxColumns, uint32_t swizzle, int32_t x, int32_t y) {
  constexpr uint32_t rows = 40, columns = 72, boxRows = 16;
  Machine machine(tile);
  std::vector<uint16_t> in(rows * columns);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<uint16_t>(i + 1);
  std::vector<uint16_t> target(in.size(), 0);
  uint64_t from = machine.upload(in), to = machine.upload(target);
  uint32_t bytes = boxRows * boxColumns * 2;
  uint64_t out = machine.allocate<uint8_t>(bytes);
  machine.runClean(
      "test", getLaunch(1, 256),
      EncodedMap(makeMap(from, rows, columns, boxRows, boxColumns, swizzle)),
      EncodedMap(makeMap(to, rows, columns, boxRows, boxColumns, swizzle)), out,
      x, y, bytes);
  std::vector<uint16_t> got = machine.download<uint16_t>(out, bytes / 2);
  std::vector<uint16_t> stored = machine.download<uint16_t>(to, in.size());
  for (uint32_t r = 0; r < boxRows; ++r)
    for (uint32_t c = 0; c < boxColumns; ++c) {
      int64_t row = y + int64_t(r), column = x + int64_t(c);
      bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
      uint16_t want = inside ? in[row * columns + column] : 0;
      // 16-byte pieces of a row are exchanged by the row's number.
      uint32_t byte = (r * boxColumns + c) * 2, width = 16u << swizzle;
      uint32_t line = byte / 128, piece = byte / 16;
      if (swizzle)
        piece ^= line % (width / 16);
      EXPECT_EQ(got[(piece * 16 + byte % 16) / 2], want) << r << ", " << c;
      if (inside)
        EXPECT_EQ(stored[row * columns + column], want);
    }
}

TEST(Tile, Inside) { testTile(64, 0, 8, 3); }
TEST(Tile, Swizzle128) { testTile(64, 3, 8, 0); }
TEST(Tile, Swizzle64) { testTile(32, 2, 16, 5); }
TEST(Tile, Swizzle32) { testTile(16, 1, 0, 1); }
TEST(Tile, OutsideIsZero) {
  testTile(64, 3, 40, 30);
  testTile(64, 0, -5, -7);
}

TEST(Tile, MapsAreChecked) {
  TensorMap map = makeMap(256, 40, 72, 16, 64, 3);
  EXPECT_EQ(map.check(), "");
  map.box[0] = 128;
  EXPECT_NE(map.check().find("swizzle"), std::string::npos);
  map = makeMap(257, 40, 72, 16, 64, 3);
  EXPECT_NE(map.check().find("multiple of 16"), std::string::npos);
  map = makeMap(256, 40, 71, 16, 64, 3);
  EXPECT_NE(map.check().find("stride"), std::string::npos);
}

} // namespace
