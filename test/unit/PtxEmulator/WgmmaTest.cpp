//===- WgmmaTest.cpp - wgmma ----------------------------------------------===//
// Operands in every layout that a descriptor describes, against plain loops.
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace amp::ptx;

namespace {

constexpr unsigned rowsM = 64, columnsN = 32, depth = 16;

struct Layout {
  bool transposed;  // m or n inside, not k
  unsigned swizzle; // 0, 32, 64 or 128 bytes
};

/// Of element (line, k) of an operand with `lines` lines, as the manual's
/// canonical layouts say; strides are as getDescriptor gives them.
uint32_t getByte(Layout layout, unsigned line, unsigned k) {
  unsigned inside = layout.transposed ? line : k;
  unsigned across = layout.transposed ? k : line;
  unsigned width = layout.swizzle ? layout.swizzle : 16;
  unsigned perWidth = width / 2; // elements
  // A block is 8 lines across of one width; blocks follow one another, first
  // along the inside.
  unsigned blocksInside = layout.transposed ? 64 / perWidth : 16 / perWidth;
  if (blocksInside == 0)
    blocksInside = 1;
  unsigned block = across / 8 * blocksInside + inside / perWidth;
  uint32_t byte =
      block * 8 * width + across % 8 * width + inside % perWidth * 2;
  if (layout.swizzle) {
    unsigned mask = layout.swizzle / 16 - 1;
    byte ^= (byte >> 7 & mask) << 4;
  }
  return byte;
}

uint64_t getDescriptor(Layout layout) {
  unsigned width = layout.swizzle ? layout.swizzle : 16;
  unsigned perWidth = width / 2;
  uint64_t blocksInside =
      std::max(1u, layout.transposed ? 64 / perWidth : 16 / perWidth);
  uint64_t alongInside = 8 * width, alongAcross = blocksInside * 8 * width;
  // With k inside: leading is along k, stride along lines; with m or n inside
  // and no swizzle the two change places.
  bool exchanged = layout.transposed && layout.swizzle == 0;
  uint64_t leading = exchanged ? alongAcross : alongInside;
  uint64_t stride = exchanged ? alongInside : alongAcross;
  uint64_t code = layout.swizzle == 0     ? 0
                  : layout.swizzle == 128 ? 1
                  : layout.swizzle == 64  ? 2
                                          : 3;
  return leading >> 4 << 16 | stride >> 4 << 32 | code << 62;
}

std::string listRegisters(const char *prefix, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? std::string(", ") : "") + prefix + std::to_string(first + i);
  return text + "}";
}

/// 8 KiB of A, then of B, are copied to shared memory; two products are added.
std::string makeProgram(bool aInRegisters, Layout a, Layout b) {
  std::string body = R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u64 %rd3, [descriptorA];
  ld.param.u64 %rd4, [descriptorB];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, smem;
  shl.b32 %r3, %r1, 4;
  mov.u32 %r4, 0;
COPY:
  cvt.u64.u32 %rd5, %r3;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd6];
  add.s32 %r5, %r2, %r3;
  st.shared.v4.b32 [%r5], {%r10, %r11, %r12, %r13};
  add.s32 %r3, %r3, 2048;
  add.s32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, 8;
  @%p1 bra COPY;
  fence.proxy.async;
  bar.sync 0;
  shr.u32 %r6, %r2, 4;
  cvt.u64.u32 %rd7, %r6;
  or.b64 %rd8, %rd3, %rd7;
  add.s64 %rd9, %rd7, 512;
  or.b64 %rd10, %rd4, %rd9;
)";
  if (aInRegisters) { // element (m, k) at 2 * (16 * m + k)
    body += "and.b32 %r20, %r1, 31;\nshr.u32 %r21, %r1, 5;\n"
            "shr.u32 %r22, %r20, 2;\nand.b32 %r23, %r20, 3;\n"
            "shl.b32 %r24, %r21, 9;\nshl.b32 %r25, %r22, 5;\n"
            "shl.b32 %r26, %r23, 2;\nadd.s32 %r27, %r24, %r25;\n"
            "add.s32 %r27, %r27, %r26;\nadd.s32 %r28, %r2, %r27;\n"
            "ld.shared.b32 %r30, [%r28];\nld.shared.b32 %r31, [%r28+256];\n"
            "ld.shared.b32 %r32, [%r28+16];\n"
            "ld.shared.b32 %r33, [%r28+272];\n";
  }
  for (unsigned i = 0; i < columnsN / 2; ++i)
    body += "mov.f32 %f" + std::to_string(i) + ", 0f3F800000;\n";
  std::string product =
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " +
      listRegisters("%f", 0, columnsN / 2) + ", " +
      (aInRegisters ? listRegisters("%r", 30, 4) : std::string("%rd8")) +
      ", %rd10, ";
  std::string tail =
      aInRegisters ? std::string(", 1, 1, ") + (b.transposed ? "1;" : "0;")
                   : std::string(", 1, 1, ") + (a.transposed ? "1, " : "0, ") +
                         (b.transposed ? "1;" : "0;");
  body += "setp.eq.u32 %p2, %r1, %r1;\nwgmma.fence.sync.aligned;\n" + product +
          "%p2" + tail + "\n" + product + "1" + tail +
          "\nwgmma.commit_group.sync.aligned;\n"
          "wgmma.wait_group.sync.aligned 0;\n"
          "mul.wide.u32 %rd11, %r1, 4;\nadd.s64 %rd12, %rd2, %rd11;\n";
  for (unsigned i = 0; i < columnsN / 2; ++i)
    body += "st.global.f32 [%rd12+" + std::to_string(512 * i) + "], %f" +
            std::to_string(i) + ";\n";
  return makeKernel(".param .u64 in, .param .u64 out, .param .u64 descriptorA, "
                    ".param .u64 descriptorB",
                    body, "sm_90a", ".shared .align 1024 .b8 smem[16384];");
}

int getA(unsigned m, unsigned k) { return int((m * 5 + k * 3) % 13) - 6; }
int getB(unsigned k, unsigned n) { return int((k * 7 + n * 2) % 9) - 4; }

uint16_t toHalf(int value) {
  _Float16 half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

LaunchReport runProduct(const std::string &text, bool aInRegisters, Layout a,
                        Layout b) {
  std::vector<uint16_t> in(8192, 0x7e00); // NaN where nothing belongs
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned m = 0; m < rowsM; ++m)
      in[aInRegisters ? m * 16 + k : getByte(a, m, k) / 2] = toHalf(getA(m, k));
    for (unsigned n = 0; n < columnsN; ++n)
      in[4096 + getByte(b, n, k) / 2] = toHalf(getB(k, n));
  }
  Machine machine(text);
  uint64_t out = machine.allocate<float>(128 * columnsN / 2);
  LaunchReport report =
      machine.launch("test", getLaunch(1, 128), machine.upload(in), out,
                     getDescriptor(a), getDescriptor(b));
  if (!report.findings.empty())
    return report;
  std::vector<float> got = machine.download<float>(out, 128 * columnsN / 2);
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned i = 0; i < columnsN / 2; ++i) {
      unsigned m = t / 32 * 16 + t % 32 / 4 + (i / 2 % 2) * 8;
      unsigned n = i / 4 * 8 + t % 4 * 2 + i % 2;
      int sum = 0;
      for (unsigned k = 0; k < depth; ++k)
        sum += getA(m, k) * getB(k, n);
      EXPECT_EQ(got[i * 128 + t], static_cast<float>(1 + 2 * sum))
          << m << ", " << n;
    }
  return report;
}

void testProduct(bool aInRegisters, Layout a, Layout b) {
  LaunchReport report =
      runProduct(makeProgram(aInRegisters, a, b), aInRegisters, a, b);
  for (const Finding &finding : report.findings)
    ADD_FAILURE() << describe(finding);
  EXPECT_EQ(report.counters.wgmma, 8u); // by each of four warps
}

TEST(Wgmma, DepthInside) {
  for (unsigned swizzle : {0u, 32u})
    testProduct(false, {false, swizzle}, {false, swizzle});
}

TEST(Wgmma, LinesInside) {
  for (unsigned swizzle : {0u, 32u, 64u, 128u})
    testProduct(false, {true, swizzle}, {true, swizzle});
}

TEST(Wgmma, AInRegisters) {
  testProduct(true, {false, 0}, {false, 32});
  testProduct(true, {false, 0}, {true, 64});
}

std::string without(std::string text, const std::string &part) {
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.erase(at, part.size());
}

TEST(Wgmma, MistakesAreFound) {
  Layout layout{false, 32};
  std::string right = makeProgram(false, layout, layout);
  auto run = [&](const std::string &text) {
    return runProduct(text, false, layout, layout);
  };
  EXPECT_TRUE(hasFinding(run(without(right, "wgmma.fence.sync.aligned;")),
                         FindingKind::AsyncCopy, "wgmma.fence"));
  EXPECT_TRUE(hasFinding(run(without(right, "fence.proxy.async;")),
                         FindingKind::Proxy));
  EXPECT_TRUE(
      hasFinding(run(without(right, "bar.sync 0;")), FindingKind::Race) ||
      hasFinding(run(without(right, "bar.sync 0;")),
                 FindingKind::Uninitialised));
  EXPECT_TRUE(
      hasFinding(run(without(right, "wgmma.wait_group.sync.aligned 0;")),
                 FindingKind::AsyncCopy, "wgmma under way"));
}

TEST(Wgmma, RegistersAndElection) {
  Machine machine(makeKernel(".param .u64 out", R"(
  ld.param.u64 %rd1, [out];
  setmaxnreg.inc.sync.aligned.u32 232;
  mov.u32 %r1, %tid.x;
  elect.sync %r2|%p1, -1;
  mov.u32 %r3, 7;
  @%p1 st.global.b32 [%rd1], %r3;
  @!%p1 bra END;
  st.global.b32 [%rd1+4], %r1;
END:
)",
                             "sm_90a"));
  uint64_t out = machine.allocate<uint32_t>(2);
  machine.runClean("test", getLaunch(1, 32), out);
  EXPECT_EQ(machine.download<uint32_t>(out, 2), (std::vector<uint32_t>{7, 0}));
}

} // namespace
