//===- CudaMatMulTest.cpp - CUDA kernels of train.matmul ------------------===//
// On the emulator, against sums in double precision, over sizes around every
// edge; what ptxas makes of them; and that the checks miss nothing.
//===----------------------------------------------------------------------===//

#include "CudaRunner.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace amp;
using namespace amp::cuda;

namespace {

using Shape = std::vector<int64_t>;
using Numbers = std::vector<double>;

struct Case {
  Shape aBatch, bBatch;
  int64_t m, n, k;
  bool transA = false, transB = false;
  std::string type = "bf16", result = "f32";
  ProductOptions options = {};
};

std::string spell(const Shape &batch, int64_t rows, int64_t columns,
                  const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : batch)
    text += std::to_string(size) + "x";
  return text + std::to_string(rows) + "x" + std::to_string(columns) + "x" +
         type + ">";
}

Shape broadcast(const Shape &a, const Shape &b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    auto at = [&](const Shape &shape) {
      return i < shape.size() ? shape[shape.size() - 1 - i] : 1;
    };
    result[result.size() - 1 - i] = at(a) == 1 ? at(b) : at(a);
  }
  return result;
}

std::string getText(const Case &c) {
  std::string a =
      spell(c.aBatch, c.transA ? c.k : c.m, c.transA ? c.m : c.k, c.type);
  std::string b =
      spell(c.bBatch, c.transB ? c.n : c.k, c.transB ? c.k : c.n, c.type);
  std::string r = spell(broadcast(c.aBatch, c.bBatch), c.m, c.n, c.result);
  std::string flags = std::string(" {") + (c.transA ? "transA" : "") +
                      (c.transA && c.transB ? ", " : "") +
                      (c.transB ? "transB" : "") + "}";
  return "func.func @f(%a: " + a + ", %b: " + b + ") -> " + r +
         " { %0 = train.matmul %a, %b" + flags + " : (" + a + ", " + b +
         ") -> " + r + "\n return %0 : " + r + " }";
}

int64_t product(const Shape &shape) { return llvm::product_of(shape); }

/// The number of an operand's matrix for batch `index` of the result.
int64_t findBatch(int64_t index, const Shape &result, const Shape &operand) {
  int64_t found = 0, stride = 1;
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t size = result[result.size() - 1 - i];
    if (i < operand.size()) {
      int64_t own = operand[operand.size() - 1 - i];
      found += (own == 1 ? 0 : index % size) * stride;
      stride *= own;
    }
    index /= size;
  }
  return found;
}

/// Sums of products, and of their absolute values where finite.
void compute(const Case &c, const Numbers &a, const Numbers &b, Numbers &sums,
             Numbers &sizes) {
  Shape batch = broadcast(c.aBatch, c.bBatch);
  for (int64_t p = 0; p < product(batch); ++p) {
    const double *pa = a.data() + findBatch(p, batch, c.aBatch) * c.m * c.k;
    const double *pb = b.data() + findBatch(p, batch, c.bBatch) * c.n * c.k;
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < c.k; ++k) {
          double x = pa[c.transA ? k * c.m + i : i * c.k + k];
          double y = pb[c.transB ? j * c.k + k : k * c.n + j];
          sum += x * y;
          if (std::isfinite(x * y))
            size += std::abs(x * y);
        }
        sums.push_back(sum);
        sizes.push_back(size);
      }
  }
}

struct Outcome {
  int64_t wrong = 0;
  CudaResults results;
};

Outcome measure(const Case &c, CudaRunner &runner, const Numbers &a,
                const Numbers &b) {
  Outcome outcome;
  outcome.results = runner.run({a, b});
  Numbers sums, sizes;
  compute(c, a, b, sums, sizes);
  if (outcome.results.values.empty()) {
    outcome.wrong = sums.size();
    return outcome;
  }
  const Numbers &got = outcome.results.values[0];
  double sumError = c.type == "f64" ? 0x1p-50 : 0x1p-21;
  for (size_t i = 0; i < sums.size(); ++i) {
    double expected = roundTo({sums[i]}, c.result)[0];
    double tolerance = sizes[i] * sumError * std::sqrt(double(c.k)) +
                       std::abs(sums[i]) * getEpsilon(c.result);
    outcome.wrong += !agree(got[i], expected, tolerance);
  }
  return outcome;
}

void expectClean(const CudaResults &results) {
  for (const ptx::Finding &finding : results.findings)
    ADD_FAILURE() << describe(finding);
}

CudaResults check(const Case &c) {
  std::string text = getText(c);
  SCOPED_TRACE(text);
  auto runner = CudaRunner::create(text, c.options);
  if (!runner)
    return {};
  Numbers a = random(product(c.aBatch) * c.m * c.k, 1, c.type);
  Numbers b = random(product(c.bBatch) * c.n * c.k, 2, c.type);
  Outcome outcome = measure(c, *runner, a, b);
  EXPECT_EQ(outcome.wrong, 0);
  expectClean(outcome.results);
  return outcome.results;
}

constexpr Tiling smallTile{64, 64, 32, 32, 32, 3};
constexpr Tiling largeTile{128, 128, 32, 64, 64, 3};

/// Rows of any length: aligned to 16 bytes, to 8, to 4, to one element.
TEST(CudaMatMul, LayoutsAndAlignments) {
  for (bool transA : {false, true})
    for (bool transB : {false, true})
      for (Shape s : {Shape{72, 80, 96}, Shape{36, 44, 52}, Shape{66, 70, 34},
                      Shape{33, 65, 67}, Shape{1, 9, 5}})
        check({{}, {}, s[0], s[1], s[2], transA, transB});
}

TEST(CudaMatMul, Types) {
  for (std::string type : {"f16", "bf16"})
    for (std::string result : {"f32", "f16", "bf16"}) {
      check({{}, {}, 80, 72, 64, false, false, type, result});
      check({{}, {}, 35, 37, 40, false, true, type, result});
    }
  check({{}, {}, 70, 66, 50, false, false, "f32", "f32"});
  check({{}, {}, 64, 128, 64, true, true, "f32", "bf16"});
  check({{}, {}, 40, 33, 29, false, true, "f64", "f64"});
}

TEST(CudaMatMul, Batches) {
  check({{3}, {3}, 24, 40, 16, false, true});
  check({{2, 3}, {3}, 17, 40, 24});
  check({{4}, {}, 24, 16, 32, false, false, "f16", "f16"});
  check({{}, {2}, 24, 16, 32, true, false, "f32", "f32"});
  check({{2, 1, 2}, {3, 1}, 8, 8, 8, false, false, "f32", "f32"});
}

TEST(CudaMatMul, Tiles) {
  for (Tiling tiling : {Tiling{128, 256, 32, 64, 64, 3}, largeTile,
                        Tiling{64, 128, 32, 32, 64, 4}, smallTile,
                        Tiling{32, 64, 32, 16, 32, 2}}) {
    check({{}, {}, 136, 264, 104, false, false, "bf16", "bf16", {tiling}});
    check({{}, {}, 136, 264, 104, true, true, "bf16", "f32", {tiling}});
  }
  check({{},
         {},
         130,
         133,
         40,
         false,
         false,
         "f32",
         "f32",
         {Tiling{128, 128, 16, 8, 8, 2}}});
}

/// Sums in parts, whose last may lie beyond the depth.
TEST(CudaMatMul, Splits) {
  Tiling tiling = smallTile;
  for (int64_t splits : {2, 3, 5}) {
    tiling.splits = splits;
    check({{}, {}, 72, 80, 392, true, false, "bf16", "f32", {tiling}});
    check({{2}, {2}, 33, 35, 201, false, true, "f16", "f16", {tiling}});
  }
  Case c{{}, {}, 64, 64, 4096, true, false};
  auto runner = CudaRunner::create(getText(c));
  ASSERT_TRUE(runner);
  EXPECT_EQ(runner->getSteps().size(), 2u)
      << "a long sum of few results is cut";
}

/// A NaN or an infinity reaches its row or column, and no other.
TEST(CudaMatMul, SpecialNumbers) {
  for (std::string type : {"bf16", "f32"}) {
    Case c{{}, {}, 70, 66, 50, false, false, type, "f32"};
    auto runner = CudaRunner::create(getText(c));
    ASSERT_TRUE(runner);
    Numbers a = random(c.m * c.k, 1, type), b = random(c.k * c.n, 2, type);
    a[3 * c.k + 49] = std::numeric_limits<double>::quiet_NaN();
    a[69 * c.k] = std::numeric_limits<double>::infinity();
    b[49 * c.n + 65] = -std::numeric_limits<double>::infinity();
    Outcome outcome = measure(c, *runner, a, b);
    EXPECT_EQ(outcome.wrong, 0) << type;
    expectClean(outcome.results);
  }
}

/// The main loop and the staged results meet no bank twice.
TEST(CudaMatMul, NoBankConflicts) {
  for (bool transA : {false, true})
    for (bool transB : {false, true})
      for (Tiling tiling : {smallTile, largeTile}) {
        CudaResults results = check(
            {{}, {}, 128, 128, 128, transA, transB, "bf16", "bf16", {tiling}});
        EXPECT_EQ(results.counters.bankConflicts, 0u);
        EXPECT_EQ(results.counters.mma, 128u * 128 * 128 / (16 * 8 * 16));
        EXPECT_GE(results.counters.idealSectors,
                  results.counters.globalSectors * 0.95);
      }
  for (bool transA : {false, true}) {
    CudaResults results = check({{},
                                 {},
                                 128,
                                 128,
                                 64,
                                 transA,
                                 !transA,
                                 "f32",
                                 "f32",
                                 {Tiling{128, 128, 16, 8, 8, 2}}});
    EXPECT_EQ(results.counters.bankConflicts, 0u);
  }
}

/// What is left out of a kernel is missed: by the result, by a finding, or by
/// the counters.
TEST(CudaMatMul, SabotageIsNoticed) {
  for (Sabotage sabotage :
       {Sabotage::Barrier, Sabotage::Wait, Sabotage::Swizzle, Sabotage::Edge}) {
    Case c{{},    {},    72,     88,    256,
           false, false, "bf16", "f32", {smallTile, sabotage}};
    auto runner = CudaRunner::create(getText(c), c.options);
    ASSERT_TRUE(runner);
    Outcome outcome = measure(c, *runner, random(c.m * c.k, 1, c.type),
                              random(c.k * c.n, 2, c.type));
    EXPECT_TRUE(outcome.wrong || !outcome.results.findings.empty() ||
                outcome.results.counters.bankConflicts)
        << static_cast<int>(sabotage);
  }
}

struct Assembly {
  Case c;
  /// Budgets.
  int64_t registers, sharedBytes;
};

/// Budgets of registers and shared memory, no spills, tensor cores and
/// asynchronous copies in use, no local memory.
TEST(CudaMatMul, Assembles) {
  constexpr unsigned hmma = 0x23c, ldgsts = 0xfae, ldl = 0x983, stl = 0x387;
  Tiling split = largeTile;
  split.splits = 4;
  std::vector<Assembly> all{
      {{{}, {}, 4096, 4096, 4096, false, false, "bf16", "bf16", {largeTile}},
       255,
       49152},
      {{{},
        {},
        4096,
        4096,
        4096,
        false,
        true,
        "f16",
        "f16",
        {Tiling{128, 256, 32, 64, 64, 3}}},
       255,
       73728},
      {{{}, {}, 1024, 1024, 16384, true, false, "bf16", "f32", {split}},
       255,
       49152},
      {{{}, {}, 1000, 1000, 1000, false, false, "bf16", "bf16", {smallTile}},
       128,
       24576},
      {{{},
        {},
        2048,
        2048,
        2048,
        false,
        false,
        "f32",
        "f32",
        {Tiling{128, 128, 16, 8, 8, 2}}},
       168,
       32768}};
  for (const Assembly &assembly : all) {
    std::string text = getText(assembly.c);
    SCOPED_TRACE(text);
    auto runner = CudaRunner::create(text, assembly.c.options);
    ASSERT_TRUE(runner);
    const PtxKernel &kernel = runner->getPtx().front();
    EXPECT_EQ(kernel.ptx.find(".local"), std::string::npos);
    EXPECT_LE(runner->getSteps().front().sharedBytes, assembly.sharedBytes);
    bool isHalf = assembly.c.type != "f32";
    std::string opcode =
        "mma.sync.aligned.m16n8k16.row.col.f32." + assembly.c.type;
    if (isHalf)
      EXPECT_NE(kernel.ptx.find(opcode), std::string::npos);
    for (std::string chip : {"sm_80", "sm_90a"}) {
      auto assembled = assemble(kernel, chip);
      if (!assembled)
        GTEST_SKIP() << "no ptxas on PATH or in /usr/local/cuda/bin";
      EXPECT_EQ(assembled->spillBytes, 0) << assembled->log;
      EXPECT_FALSE(assembled->isSerialized) << assembled->log;
      EXPECT_LE(assembled->registers, assembly.registers) << assembled->log;
      EXPECT_EQ(assembled->opcodes[ldl] + assembled->opcodes[stl], 0);
      if (isHalf) {
        EXPECT_GT(assembled->opcodes[hmma], 0);
        EXPECT_GT(assembled->opcodes[ldgsts], 0);
      }
    }
  }
}

} // namespace
