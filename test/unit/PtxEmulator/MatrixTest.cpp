//===- MatrixTest.cpp - ldmatrix, stmatrix, mma ---------------------------===//
// Against plain loops over matrices, by the layouts the PTX manual draws.
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <cmath>

using namespace amp::ptx;

namespace {

/// Each thread copies 16 bytes of `in` to shared memory at 16 * tid.
const char *const fillShared = R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 16;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];
  mov.u32 %r6, smem;
  shl.b32 %r7, %r1, 4;
  add.s32 %r8, %r6, %r7;
  st.shared.v4.b32 [%r8], {%r2, %r3, %r4, %r5};
  bar.sync 0;
)";
const char *const storeFour = R"(
  add.s64 %rd5, %rd2, %rd3;
  st.global.v4.b32 [%rd5], {%r10, %r11, %r12, %r13};
)";
const char *const inOut = ".param .u64 in, .param .u64 out";
const char *const sharedArray = ".shared .align 128 .b8 smem[4096];";

std::vector<uint16_t> countUp(size_t n) {
  std::vector<uint16_t> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<uint16_t>(i);
  return values;
}

void testLoad(bool transposed) {
  std::string load = std::string("ldmatrix.sync.aligned.m8n8.x4") +
                     (transposed ? ".trans" : "") +
                     ".shared.b16 {%r10, %r11, %r12, %r13}, [%r8];";
  Machine machine(
      makeKernel(inOut, fillShared + load + storeFour, "sm_80", sharedArray));
  std::vector<uint16_t> in = countUp(256); // four matrices, row by row
  uint64_t out = machine.allocate<uint16_t>(256);
  LaunchReport report =
      machine.runClean("test", getLaunch(1, 32), machine.upload(in), out);
  EXPECT_EQ(report.counters.matrixLoads, 1u);
  EXPECT_EQ(report.counters.bankConflicts, 0u);
  std::vector<uint16_t> got = machine.download<uint16_t>(out, 256);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned matrix = 0; matrix < 4; ++matrix)
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row = lane / 4, column = lane % 4 * 2 + half;
        if (transposed)
          std::swap(row, column);
        EXPECT_EQ(got[lane * 8 + matrix * 2 + half],
                  matrix * 64 + row * 8 + column);
      }
}

TEST(Matrix, Load) { testLoad(false); }
TEST(Matrix, LoadTransposed) { testLoad(true); }

/// What stmatrix writes ldmatrix reads back.
TEST(Matrix, StoreIsTheInverse) {
  for (const char *trans : {"", ".trans"}) {
    std::string body =
        std::string(fillShared) + "ldmatrix.sync.aligned.m8n8.x4" + trans +
        ".shared.b16 {%r10, %r11, %r12, %r13}, [%r8];\n"
        "bar.sync 0;\nadd.s32 %r9, %r8, 512;\n"
        "stmatrix.sync.aligned.m8n8.x4" +
        trans + ".shared.b16 [%r9], {%r10, %r11, %r12, %r13};\n" +
        "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r9];\n" + storeFour;
    Machine machine(makeKernel(inOut, body, "sm_90", sharedArray));
    std::vector<uint16_t> in = countUp(256);
    uint64_t out = machine.allocate<uint16_t>(256);
    machine.runClean("test", getLaunch(1, 32), machine.upload(in), out);
    EXPECT_EQ(machine.download<uint16_t>(out, 256), in);
  }
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

/// Loads `a` registers of A, `b` of B and `c` of C, each a row of 32 words, and
/// stores D in the same way.
std::string makeMma(const std::string &opcode, unsigned a, unsigned b,
                    unsigned c) {
  std::string body = R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
)";
  auto list = [](unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", %r" : "%r") + std::to_string(first + i);
    return text + "}";
  };
  for (unsigned i = 0; i < a + b + c; ++i)
    body += "ld.global.b32 %r" + std::to_string(10 + i) + ", [%rd4+" +
            std::to_string(128 * i) + "];\n";
  body += opcode + " " + list(50, c) + ", " + list(10, a) + ", " +
          list(10 + a, b) + ", " + list(10 + a + b, c) + ";\n";
  for (unsigned i = 0; i < c; ++i)
    body += "st.global.b32 [%rd5+" + std::to_string(128 * i) + "], %r" +
            std::to_string(50 + i) + ";\n";
  return makeKernel(inOut, body);
}

uint32_t floatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

/// An element as the operand's type stores it; small numbers are exact in all.
struct Format {
  const char *name;
  unsigned bits;
  uint32_t encode(int value) const {
    std::string type = name;
    if (type == "f16") {
      _Float16 half = static_cast<_Float16>(value);
      uint16_t raw;
      std::memcpy(&raw, &half, 2);
      return raw;
    }
    if (type == "bf16")
      return floatBits(static_cast<float>(value)) >> 16;
    if (type == "tf32")
      return floatBits(static_cast<float>(value));
    return static_cast<uint32_t>(value) & 0xff;
  }
};

void testMma(const Format &format, unsigned k, bool halfSums) {
  bool isInteger = format.bits == 8;
  std::string sumType = isInteger ? "s32" : halfSums ? "f16" : "f32";
  unsigned perWord = 32 / format.bits, a = k / (4 * perWord) * 2, b = a / 2,
           c = halfSums ? 2 : 4;
  std::string opcode = "mma.sync.aligned.m16n8k" + std::to_string(k) +
                       ".row.col." + sumType + "." + format.name + "." +
                       format.name + "." + sumType;
  Machine machine(makeMma(opcode, a, b, c));
  int left[16][32], right[32][8], sums[16][8];
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned i = 0; i < k; ++i)
      left[m][i] = static_cast<int>((m * 7 + i * 3) % 11) - (isInteger ? 5 : 4);
  for (unsigned i = 0; i < k; ++i)
    for (unsigned n = 0; n < 8; ++n)
      right[i][n] = static_cast<int>((i * 5 + n) % 7) - 3;
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n)
      sums[m][n] = static_cast<int>(m) - static_cast<int>(n);
  // As the manual draws the fragments.
  std::vector<uint32_t> in((a + b + c) * 32, 0);
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane / 4, inGroup = lane % 4;
    for (unsigned r = 0; r < a; ++r)
      for (unsigned i = 0; i < perWord; ++i) {
        unsigned row = group + (r % 2 ? 8 : 0);
        unsigned column = inGroup * perWord + i + (r / 2) * 4 * perWord;
        in[r * 32 + lane] |= format.encode(left[row][column])
                             << i * format.bits;
      }
    for (unsigned r = 0; r < b; ++r)
      for (unsigned i = 0; i < perWord; ++i) {
        unsigned row = inGroup * perWord + i + r * 4 * perWord;
        in[(a + r) * 32 + lane] |= format.encode(right[row][group])
                                   << i * format.bits;
      }
    for (unsigned i = 0; i < 4; ++i) {
      int value = sums[group + (i >= 2 ? 8 : 0)][inGroup * 2 + i % 2];
      uint32_t &word = in[(a + b + (halfSums ? i / 2 : i)) * 32 + lane];
      if (halfSums)
        word |= Format{"f16", 16}.encode(value) << 16 * (i % 2);
      else
        word = isInteger ? static_cast<uint32_t>(value)
                         : floatBits(static_cast<float>(value));
    }
  }
  uint64_t out = machine.allocate<uint32_t>(c * 32);
  LaunchReport report =
      machine.runClean("test", getLaunch(1, 32), machine.upload(in), out);
  EXPECT_EQ(report.counters.mma, 1u);
  std::vector<uint32_t> got = machine.download<uint32_t>(out, c * 32);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
      int expected = sums[row][column];
      for (unsigned j = 0; j < k; ++j)
        expected += left[row][j] * right[j][column];
      uint32_t word = got[(halfSums ? i / 2 : i) * 32 + lane];
      if (halfSums)
        word = word >> 16 * (i % 2) & 0xffff;
      uint32_t want = halfSums    ? Format{"f16", 16}.encode(expected)
                      : isInteger ? static_cast<uint32_t>(expected)
                                  : floatBits(static_cast<float>(expected));
      EXPECT_EQ(word, want)
          << opcode << ", row " << row << ", column " << column;
    }
}

TEST(Mma, F16) {
  testMma({"f16", 16}, 16, false);
  testMma({"f16", 16}, 8, false);
}
TEST(Mma, F16Sums) {
  testMma({"f16", 16}, 16, true);
  testMma({"f16", 16}, 8, true);
}
TEST(Mma, BF16) {
  testMma({"bf16", 16}, 16, false);
  testMma({"bf16", 16}, 8, false);
}
TEST(Mma, TF32) {
  testMma({"tf32", 32}, 8, false);
  testMma({"tf32", 32}, 4, false);
}
TEST(Mma, S8) {
  testMma({"s8", 8}, 32, false);
  testMma({"s8", 8}, 16, false);
}

} // namespace
