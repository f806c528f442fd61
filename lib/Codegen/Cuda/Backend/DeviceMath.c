/*===- DeviceMath.c - Functions of doubles on the device --------------------===
 *
 * What kernels of the CPU take from libm, for devices: compiled to LLVM IR when
 * the project is built, and inlined into the kernels that call it. Errors are
 * below 2 units in the last place; special values are those of C's Annex F.
 *
 *===----------------------------------------------------------------------===*/

typedef unsigned long long Bits;

#define INFINITE __builtin_inf()
#define NOT_A_NUMBER __builtin_nan("")

static Bits toBits(double x) {
  Bits bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static double fromBits(Bits bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

static double fused(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}

/* ln 2 in two parts; the first has 32 bits, so that small multiples of it are
 * exact. */
static const double ln2High = 0x1.62e42feep-1, ln2Low = 0x1.a39ef35793c76p-33;

/* x * 2^n, |n| below 2200. */
static double scale(double x, int n) {
  int half = n / 2, rest = n - half;
  x *= fromBits((Bits)(half / 2 + 1023) << 52);
  x *= fromBits((Bits)(half - half / 2 + 1023) << 52);
  x *= fromBits((Bits)(rest / 2 + 1023) << 52);
  return x * fromBits((Bits)(rest - rest / 2 + 1023) << 52);
}

/* exp(x + low), |low| far below |x|. */
static double expOfSum(double x, double low) {
  if (x != x)
    return x;
  if (x > 710)
    return INFINITE;
  if (x < -746)
    return 0;
  double n = __builtin_rint(x * 1.44269504088896340736);
  double r = fused(-n, ln2High, x);
  r = fused(-n, ln2Low, r) + low;
  /* Taylor's series, |r| < 0.35. */
  double p = 1.0 / 6227020800.0;
  p = fused(p, r, 1.0 / 479001600.0);
  p = fused(p, r, 1.0 / 39916800.0);
  p = fused(p, r, 1.0 / 3628800.0);
  p = fused(p, r, 1.0 / 362880.0);
  p = fused(p, r, 1.0 / 40320.0);
  p = fused(p, r, 1.0 / 5040.0);
  p = fused(p, r, 1.0 / 720.0);
  p = fused(p, r, 1.0 / 120.0);
  p = fused(p, r, 1.0 / 24.0);
  p = fused(p, r, 1.0 / 6.0);
  p = fused(p, r, 0.5);
  return scale(1 + fused(p * r, r, r), (int)n);
}

double exp(double x) { return expOfSum(x, 0); }

/* The logarithm of x, finite and positive, as the sum of two numbers. */
static double logParts(double x, double *low) {
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  Bits bits = toBits(x);
  exponent += (int)(bits >> 52) - 1023;
  double m = fromBits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++exponent;
  }
  /* log m = 2 atanh s, s = f / (2 + f), in two parts. */
  double f = m - 1, d = 2 + f, dLow = f - (d - 2);
  double s = f / d;
  double sLow = (fused(-s, d, f) - s * dLow) / d;
  double q = s * s;
  double p = 2.0 / 23;
  p = fused(p, q, 2.0 / 21);
  p = fused(p, q, 2.0 / 19);
  p = fused(p, q, 2.0 / 17);
  p = fused(p, q, 2.0 / 15);
  p = fused(p, q, 2.0 / 13);
  p = fused(p, q, 2.0 / 11);
  p = fused(p, q, 2.0 / 9);
  p = fused(p, q, 2.0 / 7);
  p = fused(p, q, 2.0 / 5);
  p = fused(p, q, 2.0 / 3);
  double tail = fused(p * q, s, 2 * sLow);
  double e = exponent, head = e * ln2High, main = 2 * s;
  double sum = head + main;
  double error = exponent ? main - (sum - head) : 0;
  double rest = error + fused(e, ln2Low, tail);
  double result = sum + rest;
  *low = rest - (result - sum);
  return result;
}

double log(double x) {
  double low;
  if (x != x || x == INFINITE)
    return x;
  if (x <= 0)
    return x == 0 ? -INFINITE : NOT_A_NUMBER;
  return logParts(x, &low);
}

/* 0: y is no integer; 1: an odd one; 2: an even one. */
static int classify(double y) {
  double size = __builtin_fabs(y);
  if (size >= 0x1p53)
    return 2;
  if (__builtin_floor(size) != size)
    return 0;
  return ((long long)size & 1) ? 1 : 2;
}

double pow(double x, double y) {
  if (y == 0 || x == 1)
    return 1;
  if (x != x || y != y)
    return x + y;
  double size = __builtin_fabs(x);
  if (y == INFINITE || y == -INFINITE) {
    if (size == 1)
      return 1;
    return (size > 1) == (y > 0) ? INFINITE : 0;
  }
  int kind = classify(y);
  double sign = toBits(x) >> 63 && kind == 1 ? -1 : 1;
  if (size == 0)
    return y > 0 ? (kind == 1 ? x : 0) : sign * INFINITE;
  if (size == INFINITE)
    return y > 0 ? sign * INFINITE : sign * 0.0;
  if (x < 0 && kind == 0)
    return NOT_A_NUMBER;
  double low, high = logParts(size, &low);
  double product = y * high;
  if (product > 800 || product < -800)
    return product > 0 ? sign * INFINITE : sign * 0.0;
  double productLow = fused(y, high, -product) + y * low;
  return sign * expOfSum(product, productLow);
}

double tanh(double x) {
  double size = __builtin_fabs(x);
  if (x != x || x == 0)
    return x;
  double result = 1;
  if (size < 0.55) {
    /* sinh / cosh by their series. */
    double q = size * size;
    double p = 1.0 / 6227020800.0, c = 1.0 / 479001600.0;
    p = fused(p, q, 1.0 / 39916800.0);
    p = fused(p, q, 1.0 / 362880.0);
    p = fused(p, q, 1.0 / 5040.0);
    p = fused(p, q, 1.0 / 120.0);
    p = fused(p, q, 1.0 / 6.0);
    c = fused(c, q, 1.0 / 3628800.0);
    c = fused(c, q, 1.0 / 40320.0);
    c = fused(c, q, 1.0 / 720.0);
    c = fused(c, q, 1.0 / 24.0);
    c = fused(c, q, 0.5);
    result = fused(p * q, size, size) / fused(c, q, 1);
  } else if (size < 20) {
    double e = exp(2 * size);
    result = 1 - 2 / (e + 1);
  }
  return x < 0 ? -result : result;
}

/* Long division: exact. */
double fmod(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y);
  if (x != x || y != y || a == INFINITE || b == 0)
    return NOT_A_NUMBER;
  if (a < b)
    return x;
  while (a >= b) {
    double part = b;
    /* The largest b * 2^n that is not above a. */
    int shift = (int)(toBits(a) >> 52) - (int)(toBits(b) >> 52);
    if (shift > 0) {
      part = scale(b, shift);
      if (part > a || part == INFINITE)
        part = scale(b, shift - 1);
    }
    a -= part;
  }
  return x < 0 || toBits(x) >> 63 ? -a : a;
}
