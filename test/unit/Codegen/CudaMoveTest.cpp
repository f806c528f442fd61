//===- CudaMoveTest.cpp - CUDA kernels that copy regions ------------------===//
// On the emulator, element by element; sectors of transposes.
//===----------------------------------------------------------------------===//

#include "CudaRunner.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace amp;
using namespace amp::cuda;

namespace {

using Shape = std::vector<int64_t>;
using Numbers = std::vector<double>;

std::string tensor(const Shape &shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

CudaResults run(const std::string &text,
                const std::vector<Numbers> &arguments) {
  SCOPED_TRACE(text);
  auto runner = CudaRunner::create(text);
  if (!runner)
    return {};
  CudaResults results = runner->run(arguments);
  for (const ptx::Finding &finding : results.findings)
    ADD_FAILURE() << describe(finding);
  EXPECT_EQ(results.counters.bankConflicts, 0u);
  return results;
}

void checkTranspose(const Shape &shape, const Shape &permutation,
                    const std::string &type, bool isDense) {
  Shape result, strides(shape.size(), 1);
  for (size_t d = shape.size() - 1; d-- > 0;)
    strides[d] = strides[d + 1] * shape[d + 1];
  std::string list;
  for (int64_t d : permutation) {
    result.push_back(shape[d]);
    list += (list.empty() ? "" : ", ") + std::to_string(d);
  }
  std::string x = tensor(shape, type), y = tensor(result, type);
  Numbers values = random(llvm::product_of(shape), 1, type), expected;
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = result.size(); d-- > 0;) {
      from += rest % result[d] * strides[permutation[d]];
      rest /= result[d];
    }
    expected.push_back(values[from]);
  }
  CudaResults results =
      run("func.func @f(%x: " + x + ") -> " + y +
              " { %0 = onnx.Transpose(%x) {perm = array<i64: " + list +
              ">} : (" + x + ") -> " + y + "\n return %0 : " + y + " }",
          {values});
  ASSERT_FALSE(results.values.empty());
  EXPECT_EQ(results.values[0], expected);
  if (isDense)
    EXPECT_GE(results.counters.idealSectors,
              results.counters.globalSectors * 0.95);
}

TEST(CudaMoves, Transposes) {
  for (std::string type : {"bf16", "f32", "f64"}) {
    checkTranspose({64, 96}, {1, 0}, type, true);
    checkTranspose({33, 70}, {1, 0}, type, false);
    checkTranspose({3, 17, 40}, {2, 0, 1}, type, false);
  }
  // Heads of attention: rows stay whole.
  checkTranspose({2, 16, 4, 64}, {0, 2, 1, 3}, "bf16", true);
  checkTranspose({2, 4, 32, 64}, {0, 1, 3, 2}, "f16", true);
  checkTranspose({5, 3, 2}, {2, 1, 0}, "f32", false);
}

TEST(CudaMoves, SlicesAndParts) {
  Numbers x(7 * 48), expected;
  std::iota(x.begin(), x.end(), 0);
  // Backwards along one axis, a part of the other.
  CudaResults slice = run(R"(
func.func @f(%x: tensor<7x48xf32>) -> tensor<3x16xf32> {
  %s = onnx.Constant() {value = dense<[6, 16]> : tensor<2xi64>} : () -> tensor<2xi64>
  %e = onnx.Constant() {value = dense<[0, 32]> : tensor<2xi64>} : () -> tensor<2xi64>
  %a = onnx.Constant() {value = dense<[0, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %t = onnx.Constant() {value = dense<[-2, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Slice(%x, %s, %e, %a, %t) : (tensor<7x48xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x16xf32>
  return %y : tensor<3x16xf32>
})",
                          {x});
  for (int64_t row : {6, 4, 2})
    for (int64_t column = 16; column < 32; ++column)
      expected.push_back(row * 48 + column);
  ASSERT_FALSE(slice.values.empty());
  EXPECT_EQ(slice.values[0], expected);

  CudaResults concat = run(R"(
func.func @f(%x: tensor<7x48xf32>, %y: tensor<7x5xf32>) -> tensor<7x53xf32> {
  %z = onnx.Concat(%x, %y) {axis = 1 : i64} : (tensor<7x48xf32>, tensor<7x5xf32>) -> tensor<7x53xf32>
  return %z : tensor<7x53xf32>
})",
                           {x, Numbers(35, -1)});
  expected.clear();
  for (int64_t i = 0; i < 7 * 53; ++i)
    expected.push_back(i % 53 < 48 ? i / 53 * 48 + i % 53 : -1);
  ASSERT_FALSE(concat.values.empty());
  EXPECT_EQ(concat.values[0], expected);
}

} // namespace
