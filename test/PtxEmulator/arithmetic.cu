// Arithmetic, comparisons and conversions: expression k of element i goes to out[k * n + i].
#include "Expressions.h"

#define KERNEL(name, type, list)                                                                                       \
  extern "C" __global__ void name(const type *as, const type *bs, const type *cs, type *out, int n) {                  \
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;                                                              \
    if (i >= n)                                                                                                        \
      return;                                                                                                          \
    type a = as[i], b = bs[i], c = cs[i];                                                                              \
    list(STORE)                                                                                                        \
  }
#define STORE(expression) out[k++ * n + i] = expression;

KERNEL(signed32, int, SIGNED_EXPRESSIONS)
KERNEL(signed64, long long, SIGNED_EXPRESSIONS)
KERNEL(signed16, short, SIGNED_EXPRESSIONS)
KERNEL(unsigned32, unsigned, UNSIGNED_EXPRESSIONS)
KERNEL(unsigned64, unsigned long long, UNSIGNED_EXPRESSIONS)
KERNEL(unsigned8, unsigned char, UNSIGNED_EXPRESSIONS)
KERNEL(float32, float, FLOAT_EXPRESSIONS)
KERNEL(float64, double, FLOAT_EXPRESSIONS)
KERNEL(functions32, float, FLOAT_FUNCTIONS)
KERNEL(functions64, double, DOUBLE_FUNCTIONS)
KERNEL(approximate32, float, APPROXIMATE_FUNCTIONS)
KERNEL(approximate64, double, APPROXIMATE_DOUBLES)

// Results as double, which holds each of them or rounds it as the host does.
extern "C" __global__ void conversions(const float *as, const int *is, const long long *ls, const double *ds, double *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  if (t >= n)
    return;
  float a = as[t];
  int i = is[t];
  long long l = ls[t];
  double d = ds[t];
#undef STORE
#define STORE(expression) out[k++ * n + t] = (double)(expression);
  CONVERSIONS(STORE)
}
