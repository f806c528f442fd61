//===- ArrayTest.cpp - Element types and conversions ----------------------===//
// Halves bit for bit against the compiler's own, integers at their limits.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Failure.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace amp::runtime;

template <typename T>
static Array view(DType type, const std::vector<T> &values) {
  return {"a",
          type,
          {static_cast<int64_t>(values.size())},
          reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T),
          nullptr};
}

static float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

TEST(Array, EveryHalfSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float wide = halfToFloat(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(wide))));
      continue;
    }
    EXPECT_EQ(floatToHalf(wide), half);
    _Float16 native;
    std::memcpy(&native, &half, sizeof(half));
    EXPECT_EQ(static_cast<float>(native), wide);
  }
}

// Every 1013th float32, and all around the edges: overflow at 65520, ties,
// subnormals, half the smallest subnormal.
TEST(Array, RoundsToHalfAsTheCompilerDoes) {
  std::vector<uint32_t> all;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 1013)
    all.push_back(static_cast<uint32_t>(bits));
  for (uint32_t edge : {0x477fe000u, 0x477ff000u, 0x38800000u, 0x33000000u,
                        0x33800000u, 0x387fe000u})
    for (uint32_t near = edge - 5000; near < edge + 5000; ++near)
      all.push_back(near);
  for (uint32_t bits : all) {
    float value = fromBits(bits);
    if (std::isnan(value))
      continue;
    auto native = static_cast<_Float16>(value);
    uint16_t expected;
    std::memcpy(&expected, &native, sizeof(expected));
    ASSERT_EQ(floatToHalf(value), expected) << std::hex << bits;
  }
}

TEST(Array, RoundsToBfloat) {
  EXPECT_EQ(floatToBfloat(1.0f), 0x3f80);
  EXPECT_EQ(floatToBfloat(fromBits(0x3f808000)), 0x3f80); // tie to even
  EXPECT_EQ(floatToBfloat(fromBits(0x3f818000)), 0x3f82); // tie to even
  EXPECT_EQ(floatToBfloat(fromBits(0x3f808001)), 0x3f81);
  EXPECT_EQ(floatToBfloat(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(fromBits(0x7f800001)))));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float wide = bfloatToFloat(static_cast<uint16_t>(bits));
    if (!std::isnan(wide))
      EXPECT_EQ(floatToBfloat(wide), bits);
  }
}

TEST(Array, SizesDoNotOverflow) {
  EXPECT_EQ(getByteSize(DType::F32, {}), 4u);
  EXPECT_EQ(getByteSize(DType::F64, {3, 0, 5}), 0u);
  EXPECT_EQ(getByteSize(DType::F32, {2, -1}), std::nullopt);
  EXPECT_EQ(getByteSize(DType::F32, {INT64_MAX}), std::nullopt);
  EXPECT_EQ(getByteSize(DType::I8, {int64_t(1) << 40, int64_t(1) << 40}),
            std::nullopt);
  // An empty array's other sizes count, too.
  EXPECT_EQ(getByteSize(DType::I8, {0, INT64_MAX, INT64_MAX}), std::nullopt);
}

TEST(Array, IntegersKeepTheirValueOrFail) {
  int64_t wide[3];
  convert(view<int16_t>(DType::I16, {-3, 0, 7}), DType::I64,
          reinterpret_cast<char *>(wide));
  EXPECT_EQ(wide[0], -3);
  EXPECT_EQ(wide[2], 7);
  convert(view<double>(DType::F64, {-9007199254740992.0, 2.0, 5.0}), DType::I64,
          reinterpret_cast<char *>(wide));
  EXPECT_EQ(wide[0], -9007199254740992);
  int32_t narrow[1];
  auto fails = [&](const Array &array, DType type) {
    EXPECT_THROW(convert(array, type, reinterpret_cast<char *>(narrow)),
                 Failure);
  };
  fails(view<int64_t>(DType::I64, {int64_t(1) << 31}), DType::I32);
  fails(view<float>(DType::F32, {0.5f}), DType::I32);
  fails(view<float>(DType::F32, {INFINITY}), DType::I32);
  fails(view<float>(DType::F32, {NAN}), DType::I32);
  fails(view<int32_t>(DType::I32, {256}), DType::U8);
  fails(view<int32_t>(DType::I32, {-1}), DType::U8);
  fails(view<int32_t>(DType::I32, {2}), DType::I1);
  fails(view<uint64_t>(DType::U64, {uint64_t(1) << 63}), DType::I64);
  fails(view<double>(DType::F64, {9.3e18}), DType::I64);
}

TEST(Array, WideningIsWhereEveryValueFits) {
  EXPECT_TRUE(isWidening(DType::F16, DType::F32));
  EXPECT_TRUE(isWidening(DType::BF16, DType::F64));
  EXPECT_TRUE(isWidening(DType::I32, DType::F64));
  EXPECT_TRUE(isWidening(DType::I16, DType::F32));
  EXPECT_FALSE(isWidening(DType::I32, DType::F32));
  EXPECT_FALSE(isWidening(DType::F32, DType::F16));
  EXPECT_FALSE(isWidening(DType::F16, DType::BF16));
  EXPECT_FALSE(isWidening(DType::U64, DType::I64));
  EXPECT_FALSE(isWidening(DType::F32, DType::I64));
}

TEST(Array, StridesOfEmptyArraysAreDefined) {
  EXPECT_EQ(getStrides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(getStrides({2, 0, 4}), (Shape{4, 4, 1}));
  EXPECT_EQ(getStrides({}), Shape{});
}
