//===- CudaConvTest.cpp - CUDA kernels of the convolution family ----------===//
// On the emulator, against loops over every product in double precision.
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

/// A convolution of x [images][groups * xChannels][size] to y.
struct Case {
  int64_t images, groups, xChannels, yChannels;
  Shape size, kernel, strides, dilations, pads;
  std::string type = "bf16", result = "bf16";

  Shape outputSize() const {
    Shape output;
    for (size_t i = 0; i < size.size(); ++i)
      output.push_back((size[i] + pads[i] + pads[i + size.size()] -
                        dilations[i] * (kernel[i] - 1) - 1) /
                           strides[i] +
                       1);
    return output;
  }
  static Shape join(Shape a, const Shape &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  Shape xShape() const { return join({images, groups * xChannels}, size); }
  Shape yShape() const {
    return join({images, groups * yChannels}, outputSize());
  }
  Shape wShape() const { return join({groups * yChannels, xChannels}, kernel); }
};

int64_t product(const Shape &shape) { return llvm::product_of(shape); }

std::string spell(const Shape &shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

std::string list(const Shape &numbers) {
  std::string text = "array<i64: ";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + ">";
}

std::string function(const std::string &op,
                     const std::vector<std::string> &types,
                     const std::string &result, const Case &c) {
  std::string arguments, names, all;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string comma = i ? ", " : "", name = "%a" + std::to_string(i);
    arguments += comma + name + ": " + types[i];
    names += comma + name;
    all += comma + types[i];
  }
  if (op == "onnx.Conv")
    names = "(" + names + ")";
  return "func.func @f(" + arguments + ") -> " + result + " { %0 = " + op +
         " " + names + " {strides = " + list(c.strides) +
         ", dilations = " + list(c.dilations) + ", pads = " + list(c.pads) +
         ", group = " + std::to_string(c.groups) + " : i64} : (" + all +
         ") -> " + result + "\n return %0 : " + result + " }";
}

/// Calls `body` with the indices into x, w and y of every product.
void forEachProduct(const Case &c,
                    llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
  Shape output = c.outputSize();
  int64_t taps = product(c.kernel), windows = product(output);
  for (int64_t window = 0; window < windows; ++window)
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t position = 0, stride = 1, windowRest = window, tapRest = tap;
      bool inside = true;
      for (int i = c.size.size() - 1; i >= 0; --i) {
        int64_t at = windowRest % output[i] * c.strides[i] +
                     tapRest % c.kernel[i] * c.dilations[i] - c.pads[i];
        inside &= at >= 0 && at < c.size[i];
        position += at * stride;
        stride *= c.size[i];
        windowRest /= output[i];
        tapRest /= c.kernel[i];
      }
      if (!inside)
        continue;
      for (int64_t n = 0; n < c.images; ++n)
        for (int64_t o = 0; o < c.groups * c.yChannels; ++o)
          for (int64_t i = 0; i < c.xChannels; ++i) {
            int64_t channel = o / c.yChannels * c.xChannels + i;
            body((n * c.groups * c.xChannels + channel) * stride + position,
                 (o * c.xChannels + i) * taps + tap,
                 (n * c.groups * c.yChannels + o) * windows + window);
          }
    }
}

void compare(const std::string &text, const std::vector<Numbers> &arguments,
             const Numbers &sums, const Numbers &sizes,
             const std::string &type) {
  SCOPED_TRACE(text);
  auto runner = CudaRunner::create(text);
  if (!runner)
    return;
  CudaResults results = runner->run(arguments);
  for (const ptx::Finding &finding : results.findings)
    ADD_FAILURE() << describe(finding);
  ASSERT_FALSE(results.values.empty());
  Numbers expected = roundTo(sums, type);
  int64_t wrong = 0;
  for (size_t i = 0; i < sums.size(); ++i)
    wrong += !agree(results.values[0][i], expected[i],
                    sizes[i] * 0x1p-19 + std::abs(sums[i]) * getEpsilon(type));
  EXPECT_EQ(wrong, 0);
}

void check(const Case &c) {
  Numbers x = random(product(c.xShape()), 1, c.type);
  Numbers w = random(product(c.wShape()), 2, c.type);
  Numbers y = random(product(c.yShape()), 3, c.type);
  Numbers bias = random(c.groups * c.yChannels, 4, c.type);
  std::string xType = spell(c.xShape(), c.type),
              wType = spell(c.wShape(), c.type);
  std::string yType = spell(c.yShape(), c.type);
  int64_t windows = product(c.outputSize());
  Numbers ySums(y.size()), xSums(x.size()), wSums(w.size());
  Numbers ySizes(y.size()), xSizes(x.size()), wSizes(w.size());
  for (size_t i = 0; i < y.size(); ++i)
    ySums[i] = bias[i / windows % bias.size()];
  auto add = [](Numbers &sums, Numbers &sizes, int64_t at, double value) {
    sums[at] += value;
    sizes[at] += std::abs(value);
  };
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    add(ySums, ySizes, yi, x[xi] * w[wi]);
    add(xSums, xSizes, xi, w[wi] * y[yi]);
    add(wSums, wSizes, wi, x[xi] * y[yi]);
  });
  compare(function("onnx.Conv",
                   {xType, wType, spell({int64_t(bias.size())}, c.type)},
                   spell(c.yShape(), c.result), c),
          {x, w, bias}, ySums, ySizes, c.result);
  compare(function("train.conv_input_gradient", {wType, yType},
                   spell(c.xShape(), c.result), c),
          {w, y}, xSums, xSizes, c.result);
  std::string wide = c.type == "f64" ? "f64" : "f32";
  compare(function("train.conv_weight_gradient", {xType, yType},
                   spell(c.wShape(), wide), c),
          {x, y}, wSums, wSizes, wide);
}

TEST(CudaConv, Windows) {
  for (std::string type : {"bf16", "f32"}) {
    // Padding; odd planes.
    check({2,
           1,
           5,
           7,
           {9, 11},
           {3, 3},
           {1, 1},
           {1, 1},
           {1, 1, 1, 1},
           type,
           type});
    // Strides and dilations, uneven padding.
    check({2,
           1,
           3,
           4,
           {13, 10},
           {3, 2},
           {2, 3},
           {2, 1},
           {2, 0, 1, 1},
           type,
           type});
    // Windows that are their elements, planes of whole chunks and not.
    check({3,
           1,
           16,
           24,
           {8, 8},
           {1, 1},
           {1, 1},
           {1, 1},
           {0, 0, 0, 0},
           type,
           type});
    check(
        {2, 1, 4, 3, {5, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, type, type});
    check(
        {2, 1, 8, 8, {6, 6}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}, type, type});
  }
}

TEST(CudaConv, GroupsAndDimensions) {
  check(
      {2, 3, 2, 4, {6, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "f16", "f16"});
  // Depthwise.
  check({2,
         8,
         1,
         1,
         {7, 7},
         {3, 3},
         {1, 1},
         {1, 1},
         {1, 1, 1, 1},
         "bf16",
         "bf16"});
  check(
      {1, 4, 1, 2, {9, 9}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}, "f32", "f32"});
  check({2, 1, 3, 4, {17}, {4}, {2}, {1}, {1, 2}, "f16", "f16"});
  check({1,
         1,
         2,
         3,
         {4, 5, 6},
         {2, 3, 2},
         {1, 2, 1},
         {1, 1, 2},
         {1, 0, 1, 0, 1, 1},
         "f32",
         "f32"});
  check(
      {1, 1, 2, 2, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "f64", "f64"});
}

/// More windows than a tile, and a weight gradient that is split.
TEST(CudaConv, LargerPlanes) {
  check({4, 1, 16, 40, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  check({8, 1, 8, 8, {32, 32}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
}

} // namespace
