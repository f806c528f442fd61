//===- CudaGroupTest.cpp - CUDA kernels of fused groups -------------------===//
// On the emulator, against formulas in double precision, over awkward shapes,
// with rows of NaN and infinity; sectors moved; what ptxas makes of them.
//===----------------------------------------------------------------------===//

#include "CudaRunner.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <limits>

using namespace amp;
using namespace amp::cuda;

namespace {

using Numbers = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::string tensor(const std::vector<int64_t> &shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

/// Replaces each `$NAME` in `text`.
std::string fill(std::string text,
                 const std::vector<std::pair<std::string, std::string>> &with) {
  for (auto &[name, value] : with)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

CudaResults run(const std::string &text, const std::vector<Numbers> &arguments,
                size_t kernels, bool isDense = true) {
  SCOPED_TRACE(text);
  auto runner = CudaRunner::create(text);
  if (!runner)
    return {};
  EXPECT_EQ(runner->getSteps().size(), kernels);
  CudaResults results = runner->run(arguments);
  for (const ptx::Finding &finding : results.findings)
    ADD_FAILURE() << describe(finding);
  EXPECT_EQ(results.counters.bankConflicts, 0u);
  if (isDense)
    EXPECT_GE(results.counters.idealSectors,
              results.counters.globalSectors * 0.95);
  return results;
}

void expectNear(const Numbers &got, const Numbers &expected,
                const std::string &type, double relative, double absolute) {
  ASSERT_EQ(got.size(), expected.size());
  Numbers rounded = roundTo(expected, type);
  int64_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double tolerance =
        absolute + std::abs(expected[i]) * (relative + getEpsilon(type));
    if (!agree(got[i], rounded[i], tolerance) && wrong++ < 3)
      ADD_FAILURE() << "element " << i << ": " << got[i] << " instead of "
                    << rounded[i];
  }
  EXPECT_EQ(wrong, 0);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

constexpr const char *scaleAndShift = R"(
func.func @f(%x: $X, %s: $B, %t: $B) -> $X {
  %0 = onnx.Mul(%x, %s) : ($X, $B) -> $X
  %1 = onnx.Add(%0, %t) : ($X, $B) -> $X
  %2 = onnx.Relu(%1) : ($X) -> $X
  return %2 : $X
})";

TEST(CudaGroups, ElementwiseWithBroadcast) {
  for (std::string type : {"f32", "bf16", "f16"})
    for (int64_t columns : {64, 12, 7}) {
      const int64_t rows = 37;
      Numbers x = random(rows * columns, 1, type);
      x[5] = nan;
      x[6] = -infinity;
      x[8] = infinity;
      Numbers s = random(columns, 2, type), t = random(columns, 3, type);
      Numbers expected(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        // Each operator rounds.
        double y = roundTo({x[i] * s[i % columns]}, type)[0];
        y = roundTo({y + t[i % columns]}, type)[0];
        expected[i] = y < 0 ? 0 : y;
      }
      CudaResults results =
          run(fill(scaleAndShift, {{"X", tensor({rows, columns}, type)},
                                   {"B", tensor({columns}, type)}}),
              {x, s, t}, 1, columns == 64);
      expectNear(results.values[0], expected, type, 0, 0);
    }
}

/// A line with a tail, two element types, two results.
TEST(CudaGroups, LineWithTail) {
  for (int64_t count : {1, 1000, 1023}) {
    std::string x = tensor({count}, "bf16"), y = tensor({count}, "f32");
    std::string text = R"(
func.func @f(%x: $X, %y: $Y) -> ($Y, $X) {
  %0 = onnx.Sigmoid(%x) : ($X) -> $X
  %1 = onnx.Mul(%0, %x) : ($X, $X) -> $X
  %2 = onnx.Cast(%1) {to = 1 : i64} : ($X) -> $Y
  %3 = onnx.Add(%2, %y) : ($Y, $Y) -> $Y
  %4 = onnx.Exp(%3) : ($Y) -> $Y
  return %4, %1 : $Y, $X
})";
    Numbers a = random(count, 1, "bf16"), b = random(count, 2, "f32");
    Numbers first, second;
    for (int64_t i = 0; i < count; ++i) {
      double s = roundTo({1 / (1 + std::exp(-a[i]))}, "bf16")[0];
      double silu = roundTo({s * a[i]}, "bf16")[0];
      second.push_back(silu);
      first.push_back(std::exp(silu + b[i]));
    }
    CudaResults results =
        run(fill(text, {{"X", x}, {"Y", y}}), {a, b}, 1, false);
    expectNear(results.values[0], first, "f32", 0x1p-21, 0);
    expectNear(results.values[1], second, "bf16", 0, 0);
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

constexpr const char *softmax = R"(
func.func @f(%x: $X) -> $X {
  %axes = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %w = onnx.Cast(%x) {to = 1 : i64} : ($X) -> $W
  %m = onnx.ReduceMax(%w, %axes) : ($W, tensor<1xi64>) -> $R
  %d = onnx.Sub(%w, %m) : ($W, $R) -> $W
  %e = onnx.Exp(%d) : ($W) -> $W
  %s = onnx.ReduceSum(%e, %axes) : ($W, tensor<1xi64>) -> $R
  %p = onnx.Div(%e, %s) : ($W, $R) -> $W
  %y = onnx.Cast(%p) {to = $T : i64} : ($W) -> $X
  return %y : $X
})";

std::string getSoftmax(int64_t rows, int64_t columns, const std::string &type) {
  return fill(softmax, {{"X", tensor({rows, columns}, type)},
                        {"W", tensor({rows, columns}, "f32")},
                        {"R", tensor({rows, 1}, "f32")},
                        {"T", type == "bf16" ? "16" : "10"}});
}

/// Rows of a warp, of a block, and rows that do not fit registers.
TEST(CudaGroups, Softmax) {
  for (int64_t columns : {1, 10, 64, 250, 1024, 1536, 3001, 20000}) {
    const int64_t rows = columns > 4000 ? 4 : 6;
    Numbers x = random(rows * columns, 1, "bf16");
    x[0] = columns > 1 ? infinity : 0; // a row of NaN
    x[(rows - 1) * columns] = nan;
    Numbers expected;
    for (int64_t r = 0; r < rows; ++r) {
      const double *row = x.data() + r * columns;
      double most = -infinity, sum = 0;
      for (int64_t c = 0; c < columns; ++c)
        most = std::isnan(row[c]) || row[c] > most ? row[c] : most;
      for (int64_t c = 0; c < columns; ++c)
        sum += std::exp(row[c] - most);
      for (int64_t c = 0; c < columns; ++c)
        expected.push_back(std::exp(row[c] - most) / sum);
    }
    for (int64_t c = 0; c < columns; ++c)
      expected[(rows - 1) * columns + c] = nan;
    CudaResults results =
        run(getSoftmax(rows, columns, "bf16"), {x}, 1, columns % 64 == 0);
    expectNear(results.values[0], expected, "bf16", 0x1p-18, 0);
  }
}

constexpr const char *layerNorm = R"(
func.func @f(%x: $X, %g: $G, %b: $G) -> ($X, $R) {
  %axes = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %eps = onnx.Constant() {value = dense<1.0e-5> : tensor<f32>} : () -> tensor<f32>
  %m = onnx.ReduceMean(%x, %axes) : ($X, tensor<1xi64>) -> $R
  %d = onnx.Sub(%x, %m) : ($X, $R) -> $X
  %q = onnx.Mul(%d, %d) : ($X, $X) -> $X
  %v = onnx.ReduceMean(%q, %axes) : ($X, tensor<1xi64>) -> $R
  %w = onnx.Add(%v, %eps) : ($R, tensor<f32>) -> $R
  %s = onnx.Sqrt(%w) : ($R) -> $R
  %n = onnx.Div(%d, %s) : ($X, $R) -> $X
  %h = onnx.Mul(%n, %g) : ($X, $G) -> $X
  %y = onnx.Add(%h, %b) : ($X, $G) -> $X
  return %y, %s : $X, $R
})";

TEST(CudaGroups, LayerNorm) {
  for (int64_t columns : {96, 768, 1001, 5000}) {
    const int64_t rows = 5;
    Numbers x = random(rows * columns, 1, "f32");
    Numbers g = random(columns, 2, "f32"), b = random(columns, 3, "f32");
    Numbers expected, deviations;
    for (int64_t r = 0; r < rows; ++r) {
      const double *row = x.data() + r * columns;
      double mean = 0, variance = 0;
      for (int64_t c = 0; c < columns; ++c)
        mean += row[c] / columns;
      for (int64_t c = 0; c < columns; ++c)
        variance += (row[c] - mean) * (row[c] - mean) / columns;
      deviations.push_back(std::sqrt(variance + 1e-5));
      for (int64_t c = 0; c < columns; ++c)
        expected.push_back((row[c] - mean) / deviations.back() * g[c] + b[c]);
    }
    CudaResults results =
        run(fill(layerNorm, {{"X", tensor({rows, columns}, "f32")},
                             {"R", tensor({rows, 1}, "f32")},
                             {"G", tensor({columns}, "f32")}}),
            {x, g, b}, 1, columns % 64 == 0);
    expectNear(results.values[0], expected, "f32", 0x1p-19, 0x1p-18);
    expectNear(results.values[1], deviations, "f32", 0x1p-20, 0);
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

constexpr const char *squares = R"(
func.func @f(%x: $X) -> $Y {
  %axes = onnx.Constant() {value = dense<$A> : tensor<$Nxi64>} : () -> tensor<$Nxi64>
  %q = onnx.Mul(%x, %x) : ($X, $X) -> $X
  %s = onnx.$OP(%q, %axes) {keepdims = 0 : i64} : ($X, tensor<$Nxi64>) -> $Y
  return %s : $Y
})";

struct ReduceCase {
  std::vector<int64_t> shape, axes;
  size_t kernels;
};

void checkReduce(const ReduceCase &c, const std::string &op, bool isDense) {
  std::vector<int64_t> kept;
  std::string axes = "[";
  int64_t count = 1;
  for (size_t d = 0; d < c.shape.size(); ++d) {
    bool isReduced = llvm::is_contained(c.axes, int64_t(d));
    if (!isReduced)
      kept.push_back(c.shape[d]);
    count *= c.shape[d];
  }
  for (size_t i = 0; i < c.axes.size(); ++i)
    axes += (i ? ", " : "") + std::to_string(c.axes[i]);
  Numbers x = random(count, 4, "f32");
  int64_t results = llvm::product_of(kept);
  Numbers expected(results, op == "ReduceMax" ? -infinity : 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t d = c.shape.size(); d-- > 0;) {
      int64_t index = rest % c.shape[d];
      rest /= c.shape[d];
      if (llvm::is_contained(c.axes, int64_t(d)))
        continue;
      at += index * stride;
      stride *= c.shape[d];
    }
    double square = x[i] * x[i];
    if (op == "ReduceMax")
      expected[at] = std::max(expected[at], square);
    else
      expected[at] += op == "ReduceMean" ? square / (count / results) : square;
  }
  CudaResults got = run(fill(squares, {{"X", tensor(c.shape, "f32")},
                                       {"Y", tensor(kept, "f32")},
                                       {"A", axes + "]"},
                                       {"N", std::to_string(c.axes.size())},
                                       {"OP", op}}),
                        {x}, c.kernels, isDense);
  expectNear(got.values[0], expected, "f32", 0x1p-19, 0);
}

TEST(CudaGroups, Reductions) {
  checkReduce({{200000}, {0}, 2}, "ReduceSum", true);
  checkReduce({{999}, {0}, 1}, "ReduceMean", false);
  checkReduce({{3, 40000}, {1}, 2}, "ReduceMax", true);
  // Down the columns, few and many; odd ones.
  checkReduce({{700, 768}, {0}, 2}, "ReduceSum", true);
  checkReduce({{33, 8192}, {0}, 1}, "ReduceMean", true);
  checkReduce({{500, 10}, {0}, 2}, "ReduceSum", false);
  checkReduce({{129, 33}, {0}, 2}, "ReduceMax", false);
  // Channels: outer and inner dimensions at once.
  checkReduce({{8, 24, 64}, {0, 2}, 1}, "ReduceSum", true);
  checkReduce({{4, 5, 6, 7}, {1, 3}, 1}, "ReduceSum", false);
}

TEST(CudaGroups, Assembles) {
  constexpr unsigned ldl = 0x983, stl = 0x387;
  std::vector<std::pair<std::string, int64_t>> all{
      {getSoftmax(8192, 1024, "bf16"), 96},
      {getSoftmax(64, 50304, "f16"), 96},
      {fill(layerNorm, {{"X", tensor({8192, 768}, "f32")},
                        {"R", tensor({8192, 1}, "f32")},
                        {"G", tensor({768}, "f32")}}),
       96},
      {fill(scaleAndShift, {{"X", tensor({4096, 1024}, "bf16")},
                            {"B", tensor({1024}, "bf16")}}),
       64}};
  for (auto &[text, registers] : all) {
    SCOPED_TRACE(text);
    auto runner = CudaRunner::create(text);
    ASSERT_TRUE(runner);
    const PtxKernel &kernel = runner->getPtx().front();
    EXPECT_NE(kernel.ptx.find(".v4.b32"), std::string::npos);
    EXPECT_EQ(kernel.ptx.find(".local"), std::string::npos);
    for (std::string chip : {"sm_80", "sm_90a"}) {
      auto assembled = assemble(kernel, chip);
      if (!assembled)
        GTEST_SKIP() << "no ptxas on PATH or in /usr/local/cuda/bin";
      EXPECT_EQ(assembled->spillBytes, 0) << assembled->log;
      EXPECT_LE(assembled->registers, registers) << assembled->log;
      EXPECT_EQ(assembled->opcodes[ldl] + assembled->opcodes[stl], 0);
    }
  }
}

} // namespace
