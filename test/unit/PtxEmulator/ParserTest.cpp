//===- ParserTest.cpp - What does not parse says why ----------------------===//
// Messages with their lines; whatever is cut off is no crash.
//===----------------------------------------------------------------------===//

#include "../../../lib/PtxEmulator/Interpreter/Decoder.h"
#include "Harness.h"
#include <algorithm>
#include <fstream>
#include <sstream>

using namespace amp::ptx;

namespace {

std::string getError(const std::string &text) {
  DeviceMemory memory;
  std::string error;
  EXPECT_FALSE(Module::parse(text, memory, error));
  EXPECT_EQ(memory.getUsed(), 0u);
  return error;
}

std::string getBodyError(const std::string &body) {
  return getError(makeKernel(".param .u64 in", body));
}

TEST(Parser, UnknownOpcodeIsNamed) {
  EXPECT_EQ(getBodyError("tcgen05.wait::ld.sync.aligned;"),
            "line 13: instruction 'tcgen05.wait::ld.sync.aligned' is not known "
            "to the emulator");
  EXPECT_EQ(getBodyError("add.foo.s32 %r1, %r2, %r3;"),
            "line 13: instruction 'add.foo.s32' is not known to the emulator");
}

TEST(Parser, MistakesAreNamed) {
  const std::pair<const char *, const char *> cases[] = {
      {"bra NOWHERE;", "line 13: label 'NOWHERE' is not defined"},
      {"add.s32 %r1, %r2, %q9;", "line 13: register '%q9' is not declared"},
      {"add.s64 %rd1, %r2, %rd3;",
       "line 13: register '%r2' does not hold a value of type .s64"},
      {"add.s32 %r1, %r2;",
       "line 13: 'add.s32' has 2 operands, which it cannot have"},
      {"L: mov.u32 %r1, 0;\nL: mov.u32 %r1, 0;",
       "line 14: label 'L' is defined twice"},
      {"@%p77 bra L;", "line 13: unknown predicate '%p77'"},
      {"call missing;", "line 13: call of 'missing', which is no function of "
                        "the module"},
      {"mov.u32 %r1, 0f3f8;", "line 13: bad number '0f3f8'"},
      {".reg .b32 %x<99999999>;", "line 13: too many registers"}};
  for (auto [body, message] : cases)
    EXPECT_EQ(getBodyError(body), message);
}

TEST(Parser, RecursionIsRefused) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                     ".func f() { call f; ret; }\n"
                     ".visible .entry k() { call f; ret; }\n";
  EXPECT_EQ(getError(text),
            "line 4: call of 'f' is recursive, which is not emulated");
}

TEST(Parser, TextThatIsNoPtx) {
  EXPECT_EQ(getError("hello"), "line 1: PTX starts with .version, but got "
                               "'hello'");
  EXPECT_EQ(getError(""), "line 1: PTX starts with .version, but got ''");
}

/// Cut off anywhere, a module parses or is refused.
TEST(Parser, EveryPrefixIsSafe) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".global .align 4 .b8 t[8] = {1, 2, 3};\n.const .f32 c = 0f3F800000;\n"
      ".func (.param .b32 r) f(.param .b32 a)\n{ .reg .b32 %r<3>;\n"
      "ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; "
      "ret; }\n"
      ".visible .entry k(.param .u64 p, .param .align 8 .b8 q[16])\n"
      ".reqntid 32, 1, 1\n{ .reg .b32 %r<9>; .reg .pred %p<2>; /* x */\n"
      "mov.u32 %r1, %tid.x; setp.lt.and.s32 %p1|%p0, %r1, -4, !%p1;\n"
      "@!%p1 bra L; { .param .b32 a0; .param .b32 r0; st.param.b32 [a0+0], "
      "%r1; call.uni (r0), f, (a0); ld.param.b32 %r2, [r0]; }\n"
      "L: brx.idx %r1, T; T: .branchtargets L; ret; }\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    DeviceMemory memory;
    std::string error;
    if (!Module::parse(text.substr(0, size), memory, error))
      EXPECT_FALSE(error.empty());
  }
}

/// The page lists the opcodes of the table and no others.
TEST(Parser, OpcodesAreDocumented) {
  std::ifstream file(AMP_SOURCE_DIR "/docs/ptx-emulator.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string text = page.str();
  size_t begin = text.find("## Opcodes"), end = text.find("with the modifiers");
  ASSERT_NE(end, std::string::npos);
  std::stringstream words(text.substr(begin + 10, end - begin - 10));
  std::vector<std::string> listed, known;
  for (std::string word; words >> word;)
    listed.push_back(word);
  for (std::string_view opcode : getOpcodes())
    known.push_back("`" + std::string(opcode) + "`");
  std::sort(known.begin(), known.end());
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, known);
}

TEST(Parser, KernelsTellWhatTheyNeed) {
  Machine machine(makeKernel(".param .u8 a, .param .u64 b, .param .f32 c[3]",
                             ".local .b8 depot[100];\nmov.u32 %r1, smem;",
                             "sm_80", ".shared .b8 smem[200];"));
  const Kernel *kernel = machine.module->findKernel("test");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->getParameterBytes(), 28u);
  EXPECT_EQ(kernel->getParameters()[1].offset, 8u);
  EXPECT_EQ(kernel->getStaticSharedBytes(), 200u);
  EXPECT_EQ(kernel->getLocalBytes(), 112u);
  EXPECT_FALSE(machine.module->findKernel("other"));
}

} // namespace
