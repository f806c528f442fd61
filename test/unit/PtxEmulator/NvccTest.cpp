//===- NvccTest.cpp - PTX of a compiler that is not ours ------------------===//
// nvcc compiles test/PtxEmulator/*.cu; the host computes what must come out.
// Skipped where there is no nvcc.
//===----------------------------------------------------------------------===//

#include "../../PtxEmulator/Expressions.h"
#include "Harness.h"
#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace amp::ptx;

namespace {

std::string findNvcc() {
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  std::stringstream folders(path + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/nvcc").c_str(), X_OK) == 0)
      return folder + "/nvcc";
  return "";
}

/// PTX of a file, compiled once; empty where there is no nvcc.
const std::string &getPtx(const std::string &name) {
  static std::map<std::string, std::string> texts;
  auto it = texts.find(name);
  if (it != texts.end())
    return it->second;
  std::string &text = texts[name];
  std::string nvcc = findNvcc();
  if (nvcc.empty())
    return text;
  char folder[] = "/tmp/amp-nvcc-XXXXXX";
  if (!mkdtemp(folder))
    return text;
  std::string output = std::string(folder) + "/out.ptx";
  std::string command = nvcc + " -ptx -w -std=c++17 -arch=sm_80 -fmad=false " +
                        AMP_SOURCE_DIR "/test/PtxEmulator/" + name + ".cu -o " +
                        output;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(output);
  std::stringstream read;
  read << file.rdbuf();
  text = read.str();
  unlink(output.c_str());
  rmdir(folder);
  return text;
}

#define NEED_PTX(name)                                                         \
  const std::string &ptx = getPtx(name);                                       \
  if (ptx.empty())                                                             \
  GTEST_SKIP() << "nvcc is neither on PATH nor in /usr/local/cuda/bin"

std::mt19937_64 &getRandom() {
  static std::mt19937_64 random(11);
  return random;
}

/// Small values, all bits, and the edges.
template <typename T> std::vector<T> makeIntegers(size_t n) {
  std::vector<T> values = {0,
                           1,
                           static_cast<T>(-1),
                           std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max(),
                           2,
                           31,
                           32,
                           33};
  while (values.size() < n) {
    uint64_t bits = getRandom()();
    values.push_back(static_cast<T>(bits & 1 ? bits >> 1 : bits >> 1 & 63));
  }
  std::shuffle(values.begin(), values.end(), getRandom());
  return values;
}

template <typename T> std::vector<T> makeFloats(size_t n, bool onlyFinite) {
  std::vector<T> values = {0, T(-0.0), 1, -1, T(0.5), T(2.5), T(-2.5), T(1.5)};
  if (!onlyFinite)
    for (T special :
         {std::numeric_limits<T>::infinity(),
          -std::numeric_limits<T>::infinity(), T(NAN),
          std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max(),
          std::numeric_limits<T>::min()})
      values.push_back(special);
  std::uniform_real_distribution<T> draw(-10, 10);
  while (values.size() < n)
    values.push_back(draw(getRandom()));
  std::shuffle(values.begin(), values.end(), getRandom());
  return values;
}

template <typename T> bool isSame(T a, T b, double tolerance) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b)
      return a != a && b != b;
    if (std::isinf(a) || std::isinf(b))
      return a == b;
    return std::abs(double(a) - double(b)) <=
           tolerance * (std::abs(double(b)) + 0.1);
  } else {
    return a == b;
  }
}

constexpr int n = 200; // not a multiple of the warp

/// Runs kernel(a, b, c, out, n) and compares with `expect(a, b, c, results)`.
template <typename T, typename F>
void compare(const std::string &ptx, const char *kernel,
             const std::vector<T> &a, const std::vector<T> &b,
             const std::vector<T> &c, double tolerance, F expect) {
  Machine machine(ptx);
  std::vector<std::vector<T>> expected(n);
  for (int i = 0; i < n; ++i)
    expect(a[i], b[i], c[i], expected[i]);
  size_t count = expected[0].size();
  uint64_t out = machine.allocate<T>(count * n);
  machine.runClean(kernel, getLaunch(4, 64), machine.upload(a),
                   machine.upload(b), machine.upload(c), out, n);
  std::vector<T> got = machine.download<T>(out, count * n);
  for (size_t k = 0; k < count; ++k)
    for (int i = 0; i < n; ++i)
      ASSERT_TRUE(isSame(got[k * n + i], expected[i][k], tolerance))
          << kernel << ", expression " << k << " of " << +a[i] << ", " << +b[i]
          << ", " << +c[i] << " gave " << +got[k * n + i] << ", expected "
          << +expected[i][k];
}

#define PUSH(expression)                                                       \
  results.push_back(                                                           \
      static_cast<std::decay_t<decltype(results[0])>>(expression));
#define EXPECTATION(list)                                                      \
  [](auto a, auto b, auto c, auto &results) {                                  \
    (void)a, (void)b, (void)c;                                                 \
    list(PUSH)                                                                 \
  }

#define INTEGER_TEST(name, kernel, type, list)                                 \
  TEST(Nvcc, name) {                                                           \
    NEED_PTX("arithmetic");                                                    \
    compare<type>(ptx, kernel, makeIntegers<type>(n), makeIntegers<type>(n),   \
                  makeIntegers<type>(n), 0, EXPECTATION(list));                \
  }
INTEGER_TEST(Signed16, "signed16", int16_t, SIGNED_EXPRESSIONS)
INTEGER_TEST(Signed32, "signed32", int32_t, SIGNED_EXPRESSIONS)
INTEGER_TEST(Signed64, "signed64", int64_t, SIGNED_EXPRESSIONS)
INTEGER_TEST(Unsigned8, "unsigned8", uint8_t, UNSIGNED_EXPRESSIONS)
INTEGER_TEST(Unsigned32, "unsigned32", uint32_t, UNSIGNED_EXPRESSIONS)
INTEGER_TEST(Unsigned64, "unsigned64", uint64_t, UNSIGNED_EXPRESSIONS)

#define FLOAT_TEST(name, kernel, type, list, onlyFinite, tolerance)            \
  TEST(Nvcc, name) {                                                           \
    NEED_PTX("arithmetic");                                                    \
    compare<type>(ptx, kernel, makeFloats<type>(n, onlyFinite),                \
                  makeFloats<type>(n, onlyFinite),                             \
                  makeFloats<type>(n, onlyFinite), tolerance,                  \
                  EXPECTATION(list));                                          \
  }
FLOAT_TEST(Float32, "float32", float, FLOAT_EXPRESSIONS, false, 0)
FLOAT_TEST(Float64, "float64", double, FLOAT_EXPRESSIONS, false, 0)
FLOAT_TEST(Functions32, "functions32", float, FLOAT_FUNCTIONS, false, 0)
FLOAT_TEST(Functions64, "functions64", double, DOUBLE_FUNCTIONS, false, 0)
// libdevice's and glibc's results are both within a few ulp of the true ones.
FLOAT_TEST(Approximate32, "approximate32", float, APPROXIMATE_FUNCTIONS, true,
           2e-6)
FLOAT_TEST(Approximate64, "approximate64", double, APPROXIMATE_DOUBLES, true,
           1e-14)

TEST(Nvcc, Conversions) {
  NEED_PTX("arithmetic");
  Machine machine(ptx);
  std::vector<float> as = makeFloats<float>(n, true);
  std::vector<int> is = makeIntegers<int>(n);
  std::vector<long long> ls = makeIntegers<long long>(n);
  std::vector<double> ds = makeFloats<double>(n, true);
  for (int i = 0; i < n; ++i) {
    as[i] *= 900;
    ds[i] *= 1e8;
  }
  std::vector<std::vector<double>> expected(n);
  for (int t = 0; t < n; ++t) {
    auto a = as[t];
    auto i = is[t];
    auto l = ls[t];
    auto d = ds[t];
    std::vector<double> &results = expected[t];
    CONVERSIONS(PUSH)
  }
  size_t count = expected[0].size();
  uint64_t out = machine.allocate<double>(count * n);
  machine.runClean("conversions", getLaunch(4, 64), machine.upload(as),
                   machine.upload(is), machine.upload(ls), machine.upload(ds),
                   out, n);
  std::vector<double> got = machine.download<double>(out, count * n);
  for (size_t k = 0; k < count; ++k)
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(got[k * n + i], expected[i][k])
          << "conversion " << k << " of " << as[i] << ", " << is[i] << ", "
          << ls[i] << ", " << ds[i];
}

//===----------------------------------------------------------------------===//
// Intrinsics
//===----------------------------------------------------------------------===//

uint32_t reverse(uint32_t a) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 32; ++i)
    result |= (a >> i & 1) << (31 - i);
  return result;
}

uint32_t permute(uint32_t a, uint32_t b, uint32_t c) {
  uint8_t bytes[8];
  std::memcpy(bytes, &a, 4);
  std::memcpy(bytes + 4, &b, 4);
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) // __byte_perm looks at three bits
    result |= uint32_t(bytes[c >> 4 * i & 7]) << 8 * i;
  return result;
}

/// Bits [position, position + length) one by one, as PTX describes bfe.
uint32_t extract(uint32_t a, uint32_t position, uint32_t length,
                 bool isSigned) {
  if (length == 0)
    return 0;
  uint32_t last = std::min(position + length - 1, 31u), result = 0;
  bool sign = isSigned && (a >> last & 1);
  for (uint32_t i = 0; i < 32; ++i) {
    bool inField = i < length && position + i <= 31;
    result |= uint32_t(inField ? a >> (position + i) & 1 : sign) << i;
  }
  return result;
}

uint32_t insert(uint32_t from, uint32_t into, uint32_t position,
                uint32_t length) {
  for (uint32_t i = 0; i < length && position + i < 32; ++i) {
    uint32_t bit = uint32_t(1) << (position + i);
    into = (into & ~bit) | ((from >> i & 1) << (position + i));
  }
  return into;
}

uint32_t dot(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned i = 0; i < 4; ++i)
    c += static_cast<uint32_t>(int8_t(a >> 8 * i) * int8_t(b >> 8 * i));
  return c;
}

TEST(Nvcc, Bits) {
  NEED_PTX("intrinsics");
  auto expect = [](uint32_t a, uint32_t b, uint32_t c,
                   std::vector<uint32_t> &results) {
    uint64_t wide = uint64_t(a) << 32 | b, other = uint64_t(c) << 32 | a;
    int64_t difference = int64_t(int32_t(a)) - int32_t(b);
    unsigned shift = c & 63;
    results = {
        reverse(a),
        a ? uint32_t(__builtin_clz(a)) : 32,
        static_cast<uint32_t>(__builtin_ffs(static_cast<int>(a))),
        static_cast<uint32_t>(__builtin_popcount(a)),
        permute(a, b, c),
        static_cast<uint32_t>(uint64_t(a) * b >> 32),
        static_cast<uint32_t>(int64_t(int32_t(a)) * int32_t(b) >> 32),
        static_cast<uint32_t>(((uint64_t(b) << 32 | a) << (c & 31)) >> 32),
        static_cast<uint32_t>((uint64_t(b) << 32 | a) >> std::min(shift, 32u)),
        static_cast<uint32_t>(std::abs(difference)) + c,
        dot(a, b, c),
        reverse(b),
        wide ? uint32_t(__builtin_clzll(wide)) : 64,
        static_cast<uint32_t>(
            static_cast<uint64_t>((unsigned __int128)wide * other >> 64)),
        extract(a, b & 255, c & 255, false),
        extract(a, b & 31, c & 31, true),
        insert(a, b, c & 31, c >> 8 & 31),
        a ^ b ^ c,
        shift < 32 ? a << shift : 0,
        static_cast<uint32_t>(int32_t(a) >> std::min(shift, 31u))};
  };
  compare<uint32_t>(ptx, "bits", makeIntegers<uint32_t>(n),
                    makeIntegers<uint32_t>(n), makeIntegers<uint32_t>(n), 0,
                    expect);
}

TEST(Nvcc, WarpWide) {
  NEED_PTX("intrinsics");
  Machine machine(ptx);
  std::vector<int> v = makeIntegers<int>(32);
  for (int &value : v)
    value %= 500;
  constexpr size_t count = 13;
  uint64_t out = machine.allocate<uint32_t>(count * 32);
  machine.runClean("warp", getLaunch(1, 32), machine.upload(v), out);
  std::vector<uint32_t> got = machine.download<uint32_t>(out, count * 32);
  uint32_t positive = 0, sum = 0, bits = 0, any = 0;
  int most = v[0];
  for (unsigned i = 0; i < 32; ++i) {
    positive |= uint32_t(v[i] > 0) << i;
    any |= v[i] > 1000;
    sum += static_cast<uint32_t>(v[i]);
    bits ^= static_cast<uint32_t>(v[i]);
    most = std::max(most, v[i]);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t peers = 0;
    for (unsigned i = 0; i < 32; ++i)
      peers |= uint32_t((v[i] & 3) == (v[lane] & 3)) << i;
    unsigned down = (lane & 15) + 7 < 16 ? lane + 7 : lane;
    std::vector<uint32_t> expected = {uint32_t(v[lane ^ 5]),
                                      uint32_t(v[lane >= 3 ? lane - 3 : lane]),
                                      uint32_t(v[down]),
                                      uint32_t(v[9]),
                                      uint32_t(v[(lane & 24) | (lane * 3 & 7)]),
                                      positive,
                                      any,
                                      1,
                                      sum,
                                      uint32_t(most),
                                      bits,
                                      peers,
                                      lane & 1 ? 0xaaaaaaaau + (lane ^ 2) : 0};
    for (size_t k = 0; k < count; ++k)
      EXPECT_EQ(got[k * 32 + lane], expected[k]) << k << " of lane " << lane;
  }
}

//===----------------------------------------------------------------------===//
// Halves and roundings
//===----------------------------------------------------------------------===//

struct Half {
  using Bits = uint16_t;
  static double get(uint16_t bits) {
    _Float16 value;
    std::memcpy(&value, &bits, 2);
    return static_cast<double>(value);
  }
};
struct Bfloat {
  static double get(uint16_t bits) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
  }
};

/// The nearest value, ties to even, by trying all of the format.
template <typename H> uint16_t roundHalf(long double exact) {
  if (exact != exact)
    return 0x7fff;
  uint16_t low = 0, high = std::is_same_v<H, Half> ? 0x7c00 : 0x7f80;
  uint16_t infinite = high;
  long double magnitude = exact < 0 ? -exact : exact;
  while (low + 1 < high) {
    uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (H::get(middle) <= magnitude ? low : high) = middle;
  }
  // Beyond the largest number the next one would be where infinity stands.
  long double below = H::get(low);
  long double above = high == infinite ? below + (below - H::get(low - 1))
                                       : static_cast<long double>(H::get(high));
  long double toLow = magnitude - below, toHigh = above - magnitude;
  uint16_t chosen =
      toLow < toHigh || (toLow == toHigh && low % 2 == 0) ? low : high;
  return chosen | (std::signbit(static_cast<double>(exact)) ? 0x8000 : 0);
}

template <typename H> void testHalf(const std::string &ptx, const char *name) {
  Machine machine(ptx);
  std::vector<uint16_t> values[3];
  for (auto &each : values)
    for (int i = 0; i < n; ++i) {
      uint64_t bits = getRandom()();
      // All patterns, and often numbers near one another.
      each.push_back(static_cast<uint16_t>(
          bits & 1 ? bits >> 8 : 0x3c00 + (bits >> 8 & 0x83ff)));
    }
  constexpr size_t count = 9;
  uint64_t out = machine.allocate<uint16_t>(count * n);
  machine.runClean(name, getLaunch(4, 64), machine.upload(values[0]),
                   machine.upload(values[1]), machine.upload(values[2]), out,
                   n);
  std::vector<uint16_t> got = machine.download<uint16_t>(out, count * n);
  for (int i = 0; i < n; ++i) {
    double a = H::get(values[0][i]), b = H::get(values[1][i]),
           c = H::get(values[2][i]);
    long double product = static_cast<long double>(a) * b;
    long double fused = product + c;
    if (c != 0 && std::abs(c) < std::abs(product) * 1e-18L) // lost, but a tie
      fused = std::nextafter(product, c > 0 ? INFINITY : -INFINITY);
    double expected[count] = {
        a + b,           a - b,           a * b, static_cast<double>(fused),
        std::fmax(a, b), std::fmin(a, b), -a,    std::abs(a),
        a < b ? a : c};
    for (size_t k = 0; k < count; ++k) {
      uint16_t bits = roundHalf<H>(k == 3 ? fused : expected[k]);
      double want = H::get(bits), have = H::get(got[k * n + i]);
      if (want != want)
        EXPECT_NE(have, have) << name << " " << k;
      else
        EXPECT_EQ(have, want)
            << name << " " << k << " of " << a << ", " << b << ", " << c;
    }
  }
}

TEST(Nvcc, Half) {
  NEED_PTX("intrinsics");
  testHalf<Half>(ptx, "half16");
}

TEST(Nvcc, Bfloat) {
  NEED_PTX("intrinsics");
  testHalf<Bfloat>(ptx, "bfloat16");
}

/// The host's result in a rounding mode.
template <typename F> float inMode(int mode, F compute) {
  std::fesetround(mode);
  volatile float result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}

float roundToHalf(float value, bool up) {
  uint16_t nearest = roundHalf<Half>(value);
  for (int step = -1; step <= 1; ++step) {
    uint16_t bits = static_cast<uint16_t>(nearest + step);
    double here = Half::get(bits);
    uint16_t beyond = static_cast<uint16_t>(bits + (value < 0 ? -1 : 1));
    double after = Half::get(beyond);
    if (here == value)
      return static_cast<float>(here);
    if (std::min(here, after) <= value && value <= std::max(here, after) &&
        (here < 0) == (value < 0) && (after < 0) == (value < 0)) {
      double upper = std::max(here, after), lower = std::min(here, after);
      bool takesUpper = up || value < 0; // up, or towards zero
      return static_cast<float>(takesUpper ? upper : lower);
    }
  }
  return NAN;
}

TEST(Nvcc, Roundings) {
  NEED_PTX("intrinsics");
  Machine machine(ptx);
  std::vector<float> as, bs;
  std::vector<double> ds;
  std::uniform_real_distribution<double> draw(-10, 10);
  for (int i = 0; i < n; ++i) {
    as.push_back(static_cast<float>(draw(getRandom())));
    bs.push_back(static_cast<float>(draw(getRandom())));
    ds.push_back(draw(getRandom()));
  }
  constexpr size_t count = 17;
  uint64_t out = machine.allocate<float>(count * n);
  machine.runClean("roundings", getLaunch(4, 64), machine.upload(as),
                   machine.upload(bs), machine.upload(ds), out, n);
  std::vector<float> got = machine.download<float>(out, count * n);
  for (int i = 0; i < n; ++i) {
    volatile float a = as[i], b = bs[i];
    volatile double d = ds[i];
    volatile long long whole = static_cast<long long>(d * 1e9);
    std::vector<float> expected = {
        inMode(FE_TOWARDZERO, [&] { return a + b; }),
        inMode(FE_DOWNWARD, [&] { return a + b; }),
        inMode(FE_UPWARD, [&] { return a + b; }),
        inMode(FE_TOWARDZERO, [&] { return a * b; }),
        inMode(FE_DOWNWARD, [&] { return a / b; }),
        inMode(FE_UPWARD, [&] { return std::sqrt(a < 0 ? -a : +a); }),
        inMode(FE_TOWARDZERO,
               [&] { return static_cast<float>(double(a) * b + a); }),
        inMode(FE_TOWARDZERO, [&] { return static_cast<float>(d); }),
        inMode(FE_UPWARD, [&] { return static_cast<float>(d); }),
        inMode(FE_DOWNWARD, [&] { return static_cast<float>(d); }),
        inMode(FE_TOWARDZERO, [&] { return static_cast<float>(whole); }),
        std::floor(a),
        std::ceil(a),
        std::nearbyint(a),
        roundToHalf(a, false),
        roundToHalf(a, true),
        a < 0   ? 0.0f
        : a > 1 ? 1.0f
                : +a};
    for (size_t k = 0; k < count; ++k)
      EXPECT_EQ(got[k * n + i], expected[k])
          << k << " of " << as[i] << ", " << bs[i] << ", " << ds[i];
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

TEST(Nvcc, Calls) {
  NEED_PTX("programs");
  Machine machine(ptx);
  std::vector<int> a, b;
  for (int i = 0; i < n; ++i) {
    a.push_back(static_cast<int>(getRandom()() % 10000));
    b.push_back(static_cast<int>(getRandom()() % 10000));
  }
  uint64_t out = machine.allocate<int>(n);
  machine.runClean("calls", getLaunch(4, 64), machine.upload(a),
                   machine.upload(b), out, n);
  std::vector<int> got = machine.download<int>(out, n);
  for (int i = 0; i < n; ++i) {
    int x = a[i], y = b[i];
    while (y)
      std::swap(x %= y, y);
    EXPECT_EQ(got[i], i % 3 ? (a[i] + x) * 7 + a[i] * b[i] : x * 7);
  }
}

TEST(Nvcc, Tables) {
  NEED_PTX("programs");
  static constexpr int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  static constexpr float scales[4] = {0.5f, 1.5f, 2.5f, 3.5f};
  Machine machine(ptx);
  std::vector<int> a;
  for (int i = 0; i < n; ++i)
    a.push_back(static_cast<int>(getRandom()() % 1000));
  uint64_t out = machine.allocate<float>(n);
  machine.runClean("tables", getLaunch(4, 64), machine.upload(a), out, n);
  std::vector<float> got = machine.download<float>(out, n);
  for (int i = 0; i < n; ++i) {
    int history[10];
    for (int j = 0; j < 10; ++j)
      history[(a[i] + j * 3) % 10] = j * table[(i + j) & 7];
    float sum = 0;
    for (int j = 0; j < 10; ++j)
      sum += history[j] * scales[(a[i] + j) & 3] * j;
    float choices[7] = {sum + 1,    sum * 2,   sum - 3, -sum,
                        sum + a[i], sum * sum, 0};
    EXPECT_EQ(got[i], choices[a[i] % 7]) << a[i];
  }
}

TEST(Nvcc, BlockSum) {
  NEED_PTX("programs");
  Machine machine(ptx);
  constexpr int length = 1000, blocks = 5;
  std::vector<float> in;
  for (int i = 0; i < length * blocks; ++i)
    in.push_back(static_cast<float>(i % 17));
  uint64_t out = machine.allocate<float>(blocks);
  Launch launch = getLaunch(blocks, 256);
  launch.threads = 2;
  LaunchReport report =
      machine.runClean("blockSum", launch, machine.upload(in), out, length);
  std::vector<float> got = machine.download<float>(out, blocks);
  for (int block = 0; block < blocks; ++block) {
    float sum = 0;
    for (int i = 0; i < length; ++i)
      sum += in[block * length + i];
    EXPECT_EQ(got[block], sum);
  }
  EXPECT_EQ(report.counters.barriers, blocks * 8 * 9u);
}

TEST(Nvcc, Transpose) {
  NEED_PTX("programs");
  Machine machine(ptx);
  constexpr int rows = 45, columns = 70;
  std::vector<float> in;
  for (int i = 0; i < rows * columns; ++i)
    in.push_back(static_cast<float>(i));
  uint64_t out = machine.allocate<float>(rows * columns);
  Launch launch;
  launch.grid = {3, 2, 1};
  launch.block = {32, 8, 1};
  LaunchReport report = machine.runClean(
      "transpose", launch, machine.upload(in), out, rows, columns);
  std::vector<float> got = machine.download<float>(out, rows * columns);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      EXPECT_EQ(got[x * rows + y], in[y * columns + x]);
  EXPECT_EQ(report.counters.bankConflicts, 0u);
}

TEST(Nvcc, Atomics) {
  NEED_PTX("programs");
  Machine machine(ptx);
  std::vector<int> in, counts(4, 0);
  for (int i = 0; i < n; ++i)
    in.push_back(static_cast<int>(getRandom()() % 5000));
  counts.push_back(17); // the one compare-and-swap of element 17 hits
  uint64_t countAt = machine.upload(counts),
           sumAt = machine.upload(std::vector<float>{0}),
           bitsAt = machine.upload(std::vector<uint32_t>{0}),
           mostAt = machine.upload(std::vector<uint64_t>{0});
  machine.runClean("atomics", getLaunch(4, 64), machine.upload(in), countAt,
                   sumAt, bitsAt, mostAt, n);
  float sum = 0;
  uint32_t bits = 0;
  uint64_t most = 0;
  std::vector<int> expected(5, 0);
  expected[4] = -1;
  for (int value : in) {
    ++expected[value & 3];
    sum += value * 0.5f;
    bits |= 1u << (value & 31);
    most = std::max<uint64_t>(most, static_cast<uint64_t>(value));
  }
  EXPECT_EQ(machine.download<int>(countAt, 5), expected);
  EXPECT_EQ(machine.download<float>(sumAt, 1)[0], sum);
  EXPECT_EQ(machine.download<uint32_t>(bitsAt, 1)[0], bits);
  EXPECT_EQ(machine.download<uint64_t>(mostAt, 1)[0], most);
}

TEST(Nvcc, Divergence) {
  NEED_PTX("programs");
  Machine machine(ptx);
  std::vector<int> in;
  for (int i = 0; i < n; ++i)
    in.push_back(i * 13 + 1);
  uint64_t out = machine.allocate<int>(n);
  machine.runClean("collatz", getLaunch(4, 64), machine.upload(in), out, n);
  std::vector<int> got = machine.download<int>(out, n);
  for (int i = 0; i < n; ++i) {
    int steps = 0;
    for (long long value = in[i]; value != 1; ++steps)
      value = value & 1 ? 3 * value + 1 : value / 2;
    EXPECT_EQ(got[i], steps);
  }
}

} // namespace
