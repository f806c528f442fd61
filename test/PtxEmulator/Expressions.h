//===- Expressions.h - Expressions for the host and for kernels -*- C++ -*-===//
// Each list is compiled by nvcc into a kernel and by the host's compiler into
// what the kernel must give. Operands are a, b and c.
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_PTXEMULATOR_EXPRESSIONS_H
#define AMP_TEST_PTXEMULATOR_EXPRESSIONS_H

// clang-format off
#define SIGNED_EXPRESSIONS(X)                                                  \
  X(a ^ b) X(a & ~b) X(a | b) X(~a) X(a < b ? a : b) X(a > b ? b : a)          \
  X(a == b) X(a != b) X(a < b) X(a <= b) X(a > b) X(a >= b)                    \
  X(a < b && b < c) X(a < b || b < c) X((a < b) != (b < c))                    \
  X(b ? (b == -1 ? 0 : a / b) : 1) X(b ? (b == -1 ? 0 : a % b) : 2)            \
  X(a >> (c & 15)) X(a / 7) X(a % 10) X(a / 16) X(a % 16)

#define UNSIGNED_EXPRESSIONS(X)                                                \
  X(a + b) X(a - b) X(a * b) X(a * b + c) X(a << (c & 15)) X(a >> (c & 15))    \
  X(b ? a / b : 1) X(b ? a % b : 2) X(a / 10) X(a % 10) X(a < b ? a : b)       \
  X(a == b) X(a < b) X(a >= b) X((a >> 3) & 31) X(a < b ? a - b : b - a)       \
  X((a << 7) | (a >> (sizeof(a) * 8 - 7)))

#define FLOAT_EXPRESSIONS(X)                                                   \
  X(a + b) X(a - b) X(a * b) X(a / b) X(-a) X(a < b ? a : b) X(a > b ? a : c)  \
  X(a == b ? c : a) X(a != b ? c : a) X(!(a < b) ? c : a) X(!(a >= b) ? c : a) \
  X(a * b + c) X(a + b * c) X((a + b) * (b - c))

// Of float only: what the library does by instructions.
#define FLOAT_FUNCTIONS(X)                                                     \
  X(fmaf(a, b, c)) X(sqrtf(fabsf(a))) X(fabsf(a)) X(fminf(a, b))               \
  X(fmaxf(a, b)) X(floorf(a)) X(ceilf(a)) X(truncf(a)) X(rintf(a))             \
  X(copysignf(a, b)) X(1.0f / a)

#define DOUBLE_FUNCTIONS(X)                                                    \
  X(fma(a, b, c)) X(sqrt(fabs(a))) X(fmin(a, b)) X(fmax(a, b)) X(floor(a))     \
  X(ceil(a)) X(trunc(a)) X(rint(a)) X(copysign(a, b)) X(1.0 / a)

// With a tolerance: libdevice's code for them.
#define APPROXIMATE_FUNCTIONS(X)                                               \
  X(expf(a * 0.1f)) X(logf(fabsf(a) + 1e-3f)) X(sinf(a)) X(cosf(a))            \
  X(tanhf(a)) X(erff(a)) X(powf(fabsf(a) + 0.1f, 1.7f)) X(exp2f(a * 0.1f))     \
  X(log2f(fabsf(a) + 1.0f)) X(cbrtf(a)) X(atanf(a)) X(expm1f(a * 0.1f))        \
  X(log1pf(fabsf(a))) X(sinf(a * 1e6f)) X(fmodf(a, 0.7f)) X(hypotf(a, b))

#define APPROXIMATE_DOUBLES(X)                                                 \
  X(exp(a * 0.1)) X(log(fabs(a) + 1e-3)) X(sin(a)) X(cos(a)) X(tanh(a))        \
  X(erf(a)) X(pow(fabs(a) + 0.1, 1.7)) X(atan(a)) X(sin(a * 1e6))

// a is a float in range of all integers, i an int, l a long long, d a double.
#define CONVERSIONS(X)                                                         \
  X((int)a) X((unsigned)fabsf(a)) X((long long)a) X((short)(int)a)             \
  X((signed char)i) X((unsigned char)i) X((short)i) X((unsigned short)i)       \
  X((float)i) X((float)(unsigned)i) X((double)i) X((float)l) X((double)l)      \
  X((float)(unsigned long long)l) X((int)l) X((long long)i)                    \
  X((unsigned long long)(unsigned)i) X((float)d) X((long long)d) X((int)d)     \
  X((double)a) X((float)(signed char)i) X((int)(signed char)l)                 \
  X((double)(unsigned long long)l)
// clang-format on

#endif // AMP_TEST_PTXEMULATOR_EXPRESSIONS_H
