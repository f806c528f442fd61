//===- MatMulTest.cpp - Kernels of train.matmul ---------------------------===//
// Against sums in double precision, over sizes around every edge.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace amp::cpu;
using amp::runtime::ThreadPool;

namespace {

using Shape = std::vector<int64_t>;

struct Case {
  Shape aBatch, bBatch;
  int64_t m, n, k;
  bool transA = false, transB = false;
  std::string type = "f32", result = "f32", cpu = "native";
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

std::vector<double> random(int64_t count, unsigned seed,
                           const std::string &type) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double &value : values)
    value = normal(generator);
  return roundTo(values, type);
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

/// Sums of products and of their absolute values.
void compute(const Case &c, const std::vector<double> &a,
             const std::vector<double> &b, std::vector<double> &sums,
             std::vector<double> &sizes) {
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
          size += std::abs(x * y);
        }
        sums.push_back(sum);
        sizes.push_back(size);
      }
  }
}

double getEpsilon(const std::string &type) {
  return type == "f64"   ? 0x1p-52
         : type == "f32" ? 0x1p-23
         : type == "f16" ? 0x1p-10
                         : 0x1p-7;
}

void check(const Case &c) {
  std::string text = getText(c);
  SCOPED_TRACE(text + " on " + c.cpu);
  auto a = random(product(c.aBatch) * c.m * c.k, 1, c.type);
  auto b = random(product(c.bBatch) * c.n * c.k, 2, c.type);
  auto runner = KernelRunner::create(text, c.cpu);
  ASSERT_TRUE(runner);
  Buffer aBuffer = encode(a, c.type), bBuffer = encode(b, c.type);
  ThreadPool one(1);
  Buffer result = runner->run({&aBuffer, &bBuffer}, one);
  auto got = decode(result, c.result);
  std::vector<double> sums, sizes;
  compute(c, a, b, sums, sizes);
  ASSERT_EQ(got.size(), sums.size());
  // A chain of k fused multiply-adds errs by at most k half units of the sum of
  // sizes; the result is rounded once more.
  double sumEpsilon = c.type == "f64" ? 0x1p-53 : 0x1p-24;
  for (size_t i = 0; i < sums.size(); ++i) {
    double bound = (c.k + 1) * sumEpsilon * sizes[i] +
                   getEpsilon(c.result) / 2 * std::abs(sums[i]) + 1e-30;
    ASSERT_NEAR(got[i], sums[i], bound) << "element " << i;
  }
  for (unsigned threads : {2, 3}) {
    ThreadPool pool(threads);
    Buffer again = runner->run({&aBuffer, &bBuffer}, pool);
    ASSERT_EQ(std::memcmp(again.data(), result.data(), result.bytes()), 0);
  }
}

bool runsHere(const std::string &cpu) {
  auto target = CpuTarget::get(cpu);
  return target && target->findMissingOnHost().empty();
}

} // namespace

TEST(MatMul, EdgesOfEveryAxis) {
  // 1; a register tile's rows -1, 0, +1; a vector's and a panel's lanes -1, 0,
  // +1; several panels and a rest.
  for (int64_t m : {1, 5, 6, 7, 65})
    for (int64_t n : {1, 15, 16, 17, 33, 63, 64, 65, 150})
      check({{}, {}, m, n, 19});
  for (int64_t k : {1, 2, 15, 16, 17, 31, 32, 33, 257})
    check({{}, {}, 20, 70, k, true, true});
}

TEST(MatMul, Transposes) {
  for (std::string type : {"f32", "f16", "bf16", "f64"})
    for (bool transA : {false, true})
      for (bool transB : {false, true})
        for (auto [m, n, k] : {std::tuple(1, 1, 1),
                               {7, 65, 33},
                               {64, 17, 5},
                               {97, 1, 31},
                               {1, 97, 31},
                               {34, 40, 32}})
          check({{},
                 {},
                 m,
                 n,
                 k,
                 transA,
                 transB,
                 type,
                 type == "f64" ? "f64" : "f32"});
}

TEST(MatMul, NarrowResults) {
  for (std::string type : {"f16", "bf16"})
    for (int64_t n : {1, 7, 17, 64, 65, 70})
      check({{}, {}, 9, n, 40, false, true, type, type});
}

TEST(MatMul, DeepProducts) {
  for (std::string type : {"f32", "bf16", "f16", "f64"})
    for (int64_t k : {1024, 1025, 2049, 4099})
      check({{},
             {},
             21,
             70,
             k,
             true,
             false,
             type,
             type == "f64"   ? "f64"
             : type == "f16" ? "f16"
                             : "f32"});
}

TEST(MatMul, FewRowsPackTheirOwnPanels) {
  // Eight panels or more; depths around a block of 256 units.
  for (std::string type : {"f32", "bf16", "f16"})
    for (bool transB : {false, true})
      for (auto [m, n, k] : {std::tuple(14, 520, 30),
                             {64, 512, 257},
                             {100, 450, 1030},
                             {17, 1000, 511}})
        check({{}, {}, m, n, k, false, transB, type, type});
  check({{9}, {9}, 40, 40, 70, true, true, "bf16", "bf16"});
  check({{3, 3}, {3, 3}, 130, 70, 33, false, false, "bf16", "f32"});
}

TEST(MatMul, BatchesBroadcast) {
  check({{3}, {3}, 5, 17, 8});
  check({{2, 3}, {3}, 5, 17, 8, true, true});
  check({{2, 1}, {4}, 20, 17, 8, false, true, "bf16", "bf16"});
  check({{2, 1}, {1, 4}, 20, 17, 8, true, false, "f16", "f16"});
  check({{}, {5}, 20, 17, 8});
  check({{5}, {}, 20, 17, 8});
  check({{5}, {}, 20, 17, 8, true});
  check({{2, 3}, {}, 4, 66, 9, false, true, "bf16", "f32"});
  check({{2, 3}, {1, 1}, 4, 1, 9});
  check({{2, 1, 3}, {1, 4, 1}, 3, 2, 5});
}

TEST(MatMul, EmptyAxes) {
  check({{}, {}, 0, 5, 3});
  check({{}, {}, 5, 0, 3});
  check({{0}, {1}, 5, 2, 3});
  // No products: zeros, not what was there before.
  check({{}, {}, 5, 20, 0});
  check({{2}, {}, 5, 20, 0, true, true, "bf16", "bf16"});
}

TEST(MatMul, OlderProcessors) {
  for (std::string cpu : {"x86-64-v3", "x86-64-v4"}) {
    if (!runsHere(cpu))
      continue;
    for (std::string type : {"f32", "bf16", "f16", "f64"})
      for (auto [m, n, k] :
           {std::tuple(7, 65, 33), {97, 1, 31}, {20, 40, 1030}})
        check({{},
               {},
               m,
               n,
               k,
               true,
               m == 7,
               type,
               type == "f32" ? "f32" : type,
               cpu});
  }
}

TEST(MatMul, SameBitsOnEveryProcessor) {
  Case c{{}, {}, 37, 75, 1100, true, true};
  auto a = random(c.m * c.k, 1, "f32"), b = random(c.n * c.k, 2, "f32");
  Buffer aBuffer = encode(a, "f32"), bBuffer = encode(b, "f32");
  ThreadPool pool(1);
  Buffer expected =
      KernelRunner::create(getText(c))->run({&aBuffer, &bBuffer}, pool);
  for (std::string cpu : {"x86-64-v3", "x86-64-v4"}) {
    if (!runsHere(cpu))
      continue;
    Buffer other =
        KernelRunner::create(getText(c), cpu)->run({&aBuffer, &bBuffer}, pool);
    EXPECT_EQ(std::memcmp(other.data(), expected.data(), expected.bytes()), 0);
  }
}

TEST(MatMul, NonFiniteElementsReachTheirRowsAndColumnsOnly) {
  for (std::string type : {"f32", "f16", "bf16"})
    for (int64_t k : {33, 1100}) {
      Case c{{}, {}, 19, 70, k, false, false, type, "f32"};
      auto a = random(c.m * c.k, 1, type), b = random(c.n * c.k, 2, type);
      a[3 * c.k + k - 1] = INFINITY;
      a[18 * c.k] = NAN;
      b[(k - 1) * c.n + 69] = NAN;
      Buffer aBuffer = encode(a, type), bBuffer = encode(b, type);
      ThreadPool pool(1);
      auto got = decode(
          KernelRunner::create(getText(c))->run({&aBuffer, &bBuffer}, pool),
          "f32");
      for (int64_t i = 0; i < c.m; ++i)
        for (int64_t j = 0; j < c.n; ++j) {
          double value = got[i * c.n + j];
          if (i == 18 || j == 69)
            EXPECT_TRUE(std::isnan(value)) << i << "," << j;
          else if (i == 3)
            EXPECT_TRUE(std::isinf(value)) << i << "," << j;
          else
            EXPECT_TRUE(std::isfinite(value)) << i << "," << j;
        }
    }
}
