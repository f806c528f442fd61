//===- HalfConversionTest.cpp - Narrowing of float32 ----------------------===//
// Against LLVM's APFloat, at every edge, and vectorized against portable.
//===----------------------------------------------------------------------===//

#include "amp/Support/HalfConversion.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace amp;

namespace {

const llvm::fltSemantics &getSemantics(HalfFormat format) {
  return format == HalfFormat::Float16 ? llvm::APFloat::IEEEhalf()
                                       : llvm::APFloat::BFloat();
}

float widen(uint16_t half, HalfFormat format) {
  llvm::APFloat value(getSemantics(format), llvm::APInt(16, half));
  bool lost;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven,
                &lost);
  return value.convertToFloat();
}

uint16_t roundWithApFloat(float source, HalfFormat format) {
  llvm::APFloat value(source);
  bool lost;
  value.convert(getSemantics(format), llvm::APFloat::rmNearestTiesToEven,
                &lost);
  return value.bitcastToAPInt().getZExtValue();
}

/// Converts by the bulk form, at an odd address and with a tail.
std::vector<uint16_t> convertBulk(const std::vector<float> &values,
                                  HalfFormat format, HalfRange range) {
  std::vector<char> source(values.size() * 4 + 1),
      target(values.size() * 2 + 1);
  std::memcpy(source.data() + 1, values.data(), values.size() * 4);
  convertToHalf(source.data() + 1, target.data() + 1, values.size(), format,
                range);
  std::vector<uint16_t> halves(values.size());
  std::memcpy(halves.data(), target.data() + 1, halves.size() * 2);
  return halves;
}

/// Random bit patterns, denser around the edges of the formats.
std::vector<float> makeValues(size_t count) {
  std::mt19937 random(7);
  std::vector<float> values(count);
  const uint32_t centres[] = {0x477ff000, 0x33000000, 0x38800000, 0x7f7f8000,
                              0x00008000, 0x7f800000, 0x80000000, 0x3f801000};
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = random();
    if (i % 3 == 0)
      bits =
          centres[bits % 8] + (random() % 64) - 32 + (random() & 0x80000000u);
    values[i] = llvm::bit_cast<float>(bits);
  }
  return values;
}

class HalfConversion : public testing::TestWithParam<HalfFormat> {};

TEST_P(HalfConversion, every_half_comes_back) {
  std::vector<float> values;
  for (unsigned half = 0; half < 65536; ++half)
    values.push_back(widen(half, GetParam()));
  std::vector<uint16_t> halves =
      convertBulk(values, GetParam(), HalfRange::Round);
  for (unsigned half = 0; half < 65536; ++half) {
    if (std::isnan(values[half]))
      continue;
    ASSERT_EQ(halves[half], half);
    ASSERT_EQ(convertToHalf(values[half], GetParam()), half);
  }
}

TEST_P(HalfConversion, ties_go_to_even) {
  unsigned inf = GetParam() == HalfFormat::Float16 ? 0x7c00 : 0x7f80;
  for (unsigned half = 0; half + 1 < inf; ++half) {
    uint32_t low = llvm::bit_cast<uint32_t>(widen(half, GetParam()));
    float middle =
        static_cast<float>((static_cast<double>(widen(half, GetParam())) +
                            static_cast<double>(widen(half + 1, GetParam()))) /
                           2);
    unsigned even = half + (half & 1);
    ASSERT_EQ(convertToHalf(middle, GetParam()), even);
    ASSERT_EQ(convertToHalf(-middle, GetParam()), even | 0x8000);
    float above = std::nextafter(middle, INFINITY);
    float below = std::nextafter(middle, 0.0f);
    ASSERT_EQ(convertToHalf(above, GetParam()), half + 1) << low;
    ASSERT_EQ(convertToHalf(below, GetParam()), half) << low;
  }
}

TEST_P(HalfConversion, nan_keeps_sign_and_payload_and_is_quieted) {
  bool isFloat16 = GetParam() == HalfFormat::Float16;
  uint32_t signalling = 0xff812345;
  std::vector<uint16_t> halves =
      convertBulk(std::vector<float>(9, llvm::bit_cast<float>(signalling)),
                  GetParam(), HalfRange::Clamp);
  uint16_t expected = isFloat16 ? 0xfe09 : 0xffc1;
  for (uint16_t half : halves)
    EXPECT_EQ(half, expected);
  // Payload only in the bits that are dropped: must not become infinity.
  float low = llvm::bit_cast<float>(uint32_t(0x7f800001));
  EXPECT_EQ(convertToHalf(low, GetParam()), isFloat16 ? 0x7e00 : 0x7fc0);
}

TEST_P(HalfConversion, agrees_with_apfloat) {
  std::vector<float> values = makeValues(60000);
  std::vector<uint16_t> halves =
      convertBulk(values, GetParam(), HalfRange::Round);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]))
      continue;
    ASSERT_EQ(halves[i], roundWithApFloat(values[i], GetParam())) << values[i];
  }
}

TEST_P(HalfConversion, vectorized_equals_portable) {
  std::vector<float> values = makeValues(300003);
  const char *source = reinterpret_cast<const char *>(values.data());
  for (HalfRange range : {HalfRange::Round, HalfRange::Clamp}) {
    std::vector<uint16_t> portable(values.size());
    detail::convertToHalfPortable(source,
                                  reinterpret_cast<char *>(portable.data()),
                                  values.size(), GetParam(), range);
    EXPECT_EQ(convertBulk(values, GetParam(), range), portable);
  }
  NarrowingStats fast = countNarrowing(values, GetParam());
  NarrowingStats slow =
      detail::countNarrowingPortable(source, values.size(), GetParam());
  EXPECT_EQ(fast.overflows, slow.overflows);
  EXPECT_EQ(fast.flushes, slow.flushes);
  EXPECT_EQ(fast.nonFinite, slow.nonFinite);
  EXPECT_EQ(fast.maxAbs, slow.maxAbs);
}

TEST_P(HalfConversion, clamp_keeps_finite_and_nonzero) {
  bool isFloat16 = GetParam() == HalfFormat::Float16;
  float tiny = std::numeric_limits<float>::denorm_min();
  float huge = std::numeric_limits<float>::max();
  std::vector<float> values = {huge,  -huge,    tiny,      -tiny, 0.0f,
                               -0.0f, INFINITY, -INFINITY, 1.5f,  -2.0f};
  uint16_t largest = isFloat16 ? 0x7bff : 0x7f7f;
  uint16_t inf = isFloat16 ? 0x7c00 : 0x7f80;
  std::vector<uint16_t> expected = {largest,
                                    uint16_t(largest | 0x8000),
                                    1,
                                    0x8001,
                                    0,
                                    0x8000,
                                    inf,
                                    uint16_t(inf | 0x8000),
                                    convertToHalf(1.5f, GetParam()),
                                    convertToHalf(-2.0f, GetParam())};
  EXPECT_EQ(convertBulk(values, GetParam(), HalfRange::Clamp), expected);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(convertToHalf(values[i], GetParam(), HalfRange::Clamp),
              expected[i]);
}

TEST_P(HalfConversion, counts_what_rounding_loses) {
  std::vector<float> values = makeValues(100000);
  NarrowingStats expected;
  for (float value : values) {
    if (!std::isfinite(value)) {
      ++expected.nonFinite;
      continue;
    }
    uint16_t half = roundWithApFloat(value, GetParam());
    expected.overflows += std::isinf(widen(half, GetParam()));
    expected.flushes += value != 0 && (half & 0x7fff) == 0;
    expected.maxAbs = std::max(expected.maxAbs, std::fabs(value));
  }
  NarrowingStats stats = countNarrowing(values, GetParam());
  EXPECT_GT(stats.overflows, 0u);
  EXPECT_GT(stats.flushes, 0u);
  EXPECT_EQ(stats.overflows, expected.overflows);
  EXPECT_EQ(stats.flushes, expected.flushes);
  EXPECT_EQ(stats.nonFinite, expected.nonFinite);
  EXPECT_EQ(stats.maxAbs, expected.maxAbs);
}

TEST(NarrowingStats, empty_input_counts_nothing) {
  NarrowingStats stats =
      countNarrowing(llvm::ArrayRef<float>(), HalfFormat::Float16);
  EXPECT_EQ(stats.overflows + stats.flushes + stats.nonFinite, 0u);
  EXPECT_EQ(stats.maxAbs, 0.0f);
}

INSTANTIATE_TEST_SUITE_P(Formats, HalfConversion,
                         testing::Values(HalfFormat::Float16,
                                         HalfFormat::BFloat16),
                         [](const auto &info) {
                           return info.param == HalfFormat::Float16 ? "f16"
                                                                    : "bf16";
                         });

} // namespace
