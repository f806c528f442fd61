//===- FloatOps.h - Operations on float and double --------------*- C++ -*-===//
// Function objects with PTX's rules for NaN; arithmetic in the rounding mode
// the thread has.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_FLOATOPS_H
#define AMP_PTXEMULATOR_FLOATOPS_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace amp::ptx {

template <typename To, typename From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// The one NaN that 32-bit arithmetic gives.
inline float getNaN() { return bitCast<float>(uint32_t(0x7fffffff)); }

inline float canonical(float a) { return a == a ? a : getNaN(); }
inline double canonical(double a) { return a; }

inline float flush(float a) {
  uint32_t bits = bitCast<uint32_t>(a);
  return (bits & 0x7f800000) ? a : bitCast<float>(bits & 0x80000000);
}
inline double flush(double a) { return a; }

template <typename T> inline T saturate(T a) { // NaN becomes 0
  return a > T(0) ? (a < T(1) ? a : T(1)) : T(0);
}

struct FloatAdd {
  template <typename T> T operator()(T a, T b) const { return a + b; }
};
struct FloatSub {
  template <typename T> T operator()(T a, T b) const { return a - b; }
};
struct FloatMul {
  template <typename T> T operator()(T a, T b) const { return a * b; }
};
struct FloatDiv {
  template <typename T> T operator()(T a, T b) const { return a / b; }
};
struct FloatFma {
  float operator()(float a, float b, float c) const {
    return __builtin_fmaf(a, b, c);
  }
  double operator()(double a, double b, double c) const {
    return __builtin_fma(a, b, c);
  }
};
struct FloatSqrt {
  float operator()(float a) const { return __builtin_sqrtf(a); }
  double operator()(double a) const { return __builtin_sqrt(a); }
};
struct FloatReciprocal {
  template <typename T> T operator()(T a) const { return T(1) / a; }
};
struct FloatNegate {
  template <typename T> T operator()(T a) const { return -a; }
};
struct FloatAbsolute {
  float operator()(float a) const { return __builtin_fabsf(a); }
  double operator()(double a) const { return __builtin_fabs(a); }
};

/// A NaN loses against a number, and -0 is less than +0.
struct FloatMin {
  template <typename T> T operator()(T a, T b) const {
    T less = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : less;
  }
};
struct FloatMax {
  template <typename T> T operator()(T a, T b) const {
    T more = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : more;
  }
};
/// A NaN wins.
struct FloatMinNaN {
  template <typename T> T operator()(T a, T b) const {
    return a != a || b != b ? T(NAN) : FloatMin()(a, b);
  }
};
struct FloatMaxNaN {
  template <typename T> T operator()(T a, T b) const {
    return a != a || b != b ? T(NAN) : FloatMax()(a, b);
  }
};
/// Of the absolute values, with the sign that a product would have.
template <typename F> struct XorSign {
  template <typename T> T operator()(T a, T b) const {
    T result = F()(std::abs(a), std::abs(b));
    return std::signbit(a) != std::signbit(b) ? -result : result;
  }
};
/// b with the sign of a: operands in PTX's order.
struct CopySign {
  template <typename T> T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_FLOATOPS_H
