//===- ConvTest.cpp - Kernels of the convolution family -------------------===//
// Against loops over every product in double precision.
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

/// A convolution of x [images][groups * xChannels][size] to y.
struct Case {
  int64_t images, groups, xChannels, yChannels;
  Shape size, kernel, strides, dilations, pads;
  std::string type = "f32", result = "f32", cpu = "native";

  Shape outputSize() const {
    Shape output;
    for (size_t i = 0; i < size.size(); ++i)
      output.push_back((size[i] + pads[i] + pads[i + size.size()] -
                        dilations[i] * (kernel[i] - 1) - 1) /
                           strides[i] +
                       1);
    return output;
  }
  Shape xShape() const { return join({images, groups * xChannels}, size); }
  Shape yShape() const {
    return join({images, groups * yChannels}, outputSize());
  }
  Shape wShape() const { return join({groups * yChannels, xChannels}, kernel); }

  static Shape join(Shape a, const Shape &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

int64_t product(const Shape &shape) { return llvm::product_of(shape); }

std::string spell(const Shape &shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

std::string spell(const Shape &numbers) {
  std::string text = "array<i64: ";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + ">";
}

std::string attributes(const Case &c) {
  return "{strides = " + spell(c.strides) +
         ", dilations = " + spell(c.dilations) + ", pads = " + spell(c.pads) +
         ", group = " + std::to_string(c.groups) + " : i64}";
}

std::string function(const std::vector<std::string> &types,
                     const std::string &result, const std::string &op,
                     bool parentheses, const std::string &attributes) {
  std::string arguments, names, list;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string comma = i ? ", " : "", name = "%a" + std::to_string(i);
    arguments += comma + name + ": " + types[i];
    names += comma + name;
    list += comma + types[i];
  }
  if (parentheses)
    names = "(" + names + ")";
  return "func.func @f(" + arguments + ") -> " + result + " { %0 = " + op +
         names + " " + attributes + " : (" + list + ") -> " + result +
         "\n return %0 : " + result + " }";
}

std::vector<double> random(const Shape &shape, unsigned seed,
                           const std::string &type) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(product(shape));
  for (double &value : values)
    value = normal(generator);
  return roundTo(values, type);
}

/// Calls `body` with the indices into x, w and y of every product.
void forEachProduct(
    const Case &c,
    llvm::function_ref<void(int64_t x, int64_t w, int64_t y)> body) {
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

struct Sums {
  explicit Sums(int64_t count) : values(count), sizes(count), counts(count) {}
  void add(int64_t at, double value) {
    values[at] += value;
    sizes[at] += std::abs(value);
    ++counts[at];
  }
  std::vector<double> values, sizes;
  std::vector<int64_t> counts;
};

double getEpsilon(const std::string &type) {
  return type == "f64"   ? 0x1p-52
         : type == "f32" ? 0x1p-23
         : type == "f16" ? 0x1p-10
                         : 0x1p-7;
}

/// Runs the function and compares; also that threads change no bit.
void check(const Case &c, const std::string &text,
           const std::vector<std::vector<double>> &arguments,
           const Sums &expected) {
  SCOPED_TRACE(text + " on " + c.cpu);
  auto runner = KernelRunner::create(text, c.cpu);
  ASSERT_TRUE(runner);
  std::vector<Buffer> buffers;
  std::vector<const Buffer *> pointers;
  for (auto &argument : arguments)
    buffers.push_back(encode(argument, c.type));
  for (Buffer &buffer : buffers)
    pointers.push_back(&buffer);
  ThreadPool one(1), two(2);
  Buffer result = runner->run(pointers, one);
  auto got = decode(result, c.result);
  ASSERT_EQ(got.size(), expected.values.size());
  double sumEpsilon = c.type == "f64" ? 0x1p-53 : 0x1p-24;
  for (size_t i = 0; i < got.size(); ++i) {
    double bound = (expected.counts[i] + 2) * sumEpsilon * expected.sizes[i] +
                   getEpsilon(c.result) / 2 * std::abs(expected.values[i]) +
                   1e-30;
    ASSERT_NEAR(got[i], expected.values[i], bound) << "element " << i;
  }
  Buffer again = runner->run(pointers, two);
  ASSERT_EQ(std::memcmp(again.data(), result.data(), result.bytes()), 0);
}

void checkForward(const Case &c, bool bias = false) {
  auto x = random(c.xShape(), 1, c.type), w = random(c.wShape(), 2, c.type);
  auto b = random({c.groups * c.yChannels}, 3, c.type);
  Sums sums(product(c.yShape()));
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    sums.add(yi, x[xi] * w[wi]);
  });
  std::vector<std::string> types{spell(c.xShape(), c.type),
                                 spell(c.wShape(), c.type)};
  std::vector<std::vector<double>> arguments{x, w};
  if (bias) {
    types.push_back(spell({c.groups * c.yChannels}, c.type));
    arguments.push_back(b);
    int64_t windows = product(c.outputSize());
    for (size_t i = 0; i < sums.values.size(); ++i)
      sums.add(i, b[i / windows % b.size()]);
  }
  check(c,
        function(types, spell(c.yShape(), c.result), "onnx.Conv", true,
                 attributes(c)),
        arguments, sums);
}

/// Also what ConvTranspose computes.
void checkInputGradient(const Case &c) {
  auto w = random(c.wShape(), 2, c.type), y = random(c.yShape(), 4, c.type);
  Sums sums(product(c.xShape()));
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    sums.add(xi, w[wi] * y[yi]);
  });
  check(c,
        function({spell(c.wShape(), c.type), spell(c.yShape(), c.type)},
                 spell(c.xShape(), c.result), "train.conv_input_gradient ",
                 false, attributes(c)),
        {w, y}, sums);
}

void checkWeightGradient(const Case &c) {
  auto x = random(c.xShape(), 1, c.type), y = random(c.yShape(), 4, c.type);
  Sums sums(product(c.wShape()));
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    sums.add(wi, x[xi] * y[yi]);
  });
  check(c,
        function({spell(c.xShape(), c.type), spell(c.yShape(), c.type)},
                 spell(c.wShape(), c.result), "train.conv_weight_gradient ",
                 false, attributes(c)),
        {x, y}, sums);
}

void checkAll(const Case &c) {
  checkForward(c);
  checkInputGradient(c);
  checkWeightGradient(c);
}

const Case plain{2, 1, 3, 8, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};

} // namespace

TEST(Conv, Kernels) {
  checkAll(plain);
  // One by one: planes are the tensor itself, nothing is cut off.
  checkAll({2, 1, 5, 7, {6, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  checkAll({1, 1, 3, 4, {9, 70}, {5, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  // One window, and a window as large as the image.
  checkAll({3, 1, 4, 20, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  checkAll({2, 1, 2, 3, {7, 5}, {7, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
}

TEST(Conv, OneAndThreeDimensions) {
  checkAll({2, 1, 3, 5, {40}, {4}, {1}, {1}, {2, 1}});
  checkAll({2, 1, 3, 5, {41}, {3}, {2}, {2}, {0, 3}});
  checkAll({1,
            1,
            2,
            3,
            {4, 5, 6},
            {2, 3, 2},
            {1, 2, 1},
            {1, 1, 2},
            {1, 0, 1, 0, 1, 1}});
}

TEST(Conv, Strides) {
  checkAll({2, 1, 3, 5, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}});
  checkAll({2, 1, 3, 5, {9, 37}, {3, 2}, {2, 3}, {1, 1}, {0, 1, 1, 0}});
  // Elements of x that no window reaches.
  checkAll({1, 1, 4, 6, {7, 8}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}});
  checkAll({1, 1, 2, 3, {14, 17}, {2, 2}, {5, 6}, {1, 1}, {0, 0, 0, 0}});
  // A stride that divides no dilated tap, and one that divides them all.
  checkAll({1, 1, 2, 3, {15, 16}, {3, 3}, {3, 2}, {2, 2}, {2, 2, 2, 2}});
}

TEST(Conv, DilationsAndUnevenPads) {
  checkAll({1, 1, 2, 3, {12, 9}, {3, 2}, {1, 1}, {2, 3}, {2, 0, 1, 3}});
  checkAll({1, 1, 2, 3, {5, 5}, {2, 2}, {1, 1}, {1, 1}, {3, 0, 0, 2}});
}

TEST(Conv, Groups) {
  checkAll({2, 2, 3, 5, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  // Depthwise, and depthwise with a multiplier.
  checkAll({2, 7, 1, 1, {10, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  checkAll({2, 4, 1, 3, {10, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}});
}

TEST(Conv, ManyChannels) {
  checkAll({3, 1, 70, 65, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  // More windows than a block of the weight gradient.
  checkAll({2, 1, 9, 20, {40, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
}

TEST(Conv, Types) {
  for (std::string type : {"f16", "bf16", "f64"}) {
    Case c{2, 2, 3, 5, {9, 8}, {3, 3}, {2, 1}, {1, 1}, {1, 1, 0, 1}};
    c.type = c.result = type;
    checkAll(c);
    checkForward(c, /*bias=*/true);
    if (type == "f64")
      continue;
    c.result = "f32";
    checkWeightGradient(c);
  }
}

TEST(Conv, Pairs) {
  // Depths and window counts that make whole pairs, and ones that do not; sizes
  // of which runs of 1, 2, 4, 8 and 16 windows follow.
  for (int64_t width : {5, 6, 12, 8, 16})
    for (int64_t channels : {3, 4}) {
      Case c{3,      1,      channels, 18,          {3, width},
             {3, 3}, {1, 1}, {1, 1},   {1, 1, 1, 1}};
      c.type = c.result = "bf16";
      checkAll(c);
    }
  // More depth than a block.
  Case c{2, 1, 90, 20, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  c.type = "bf16";
  c.result = "f32";
  checkWeightGradient(c);
  c.result = "bf16";
  checkForward(c);
  checkInputGradient(c);
}

TEST(Conv, Bias) {
  checkForward(plain, /*bias=*/true);
  checkForward({2, 2, 5, 7, {6, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
               /*bias=*/true);
}

TEST(Conv, OlderProcessors) {
  for (std::string cpu : {"x86-64-v3", "x86-64-v4"}) {
    auto target = CpuTarget::get(cpu);
    if (!target || !target->findMissingOnHost().empty())
      continue;
    for (std::string type : {"f32", "bf16"}) {
      // Runs of 1, 2, 4 and 8 windows.
      for (int64_t width : {2, 5, 6, 4, 8}) {
        Case c{2, 1, 3, 5, {9, width}, {3, 3}, {2, 1}, {1, 1}, {1, 1, 0, 1}};
        c.type = c.result = type;
        c.cpu = cpu;
        checkAll(c);
        c.strides[1] = 2;
        checkAll(c);
      }
    }
  }
}

TEST(Conv, AutomaticPads) {
  // 5 windows of 3 every 2 elements cover 11: of 10 elements one is missing,
  // which SAME_UPPER adds at the end and SAME_LOWER at the start.
  for (bool upper : {true, false}) {
    Case c{1, 1, 2, 3, {10}, {3}, {2}, {1}, {upper ? 0 : 1, upper ? 1 : 0}};
    auto x = random(c.xShape(), 1, c.type), w = random(c.wShape(), 2, c.type);
    Sums sums(product(c.yShape()));
    forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
      sums.add(yi, x[xi] * w[wi]);
    });
    std::string pad = upper ? "SAME_UPPER" : "SAME_LOWER";
    check(c,
          function({spell(c.xShape(), "f32"), spell(c.wShape(), "f32")},
                   spell(c.yShape(), "f32"), "onnx.Conv", true,
                   "{strides = array<i64: 2>, auto_pad = \"" + pad + "\"}"),
          {x, w}, sums);
  }
}

TEST(Conv, Transposed) {
  // x of the convolution that is transposed has 2 * 4 + 3 - 2 = 9 elements, and
  // 1 more by output_padding.
  Case c{2, 2, 3, 4, {10}, {3}, {2}, {1}, {1, 1}};
  auto w = random(c.wShape(), 2, c.type), y = random(c.yShape(), 4, c.type);
  auto b = random({6}, 5, c.type);
  Sums sums(product(c.xShape()));
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    sums.add(xi, w[wi] * y[yi]);
  });
  for (size_t i = 0; i < sums.values.size(); ++i)
    sums.add(i, b[i / 10 % 6]);
  std::string types[] = {spell(c.yShape(), "f32"), spell(c.wShape(), "f32"),
                         "tensor<6xf32>"};
  check(c,
        function({types[0], types[1], types[2]}, spell(c.xShape(), "f32"),
                 "onnx.ConvTranspose", true,
                 "{strides = array<i64: 2>, pads = array<i64: 1, 1>, "
                 "output_padding = array<i64: 1>, group = 2 : i64}"),
        {y, w, b}, sums);
}
