// Instructions that C has no operator for.
extern "C" __global__ void bits(const unsigned *as, const unsigned *bs, const unsigned *cs, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned a = as[i], b = bs[i], c = cs[i], v;
  int k = 0;
  auto put = [&](unsigned value) { out[k++ * n + i] = value; };
  put(__brev(a));
  put(__clz(a));
  put(__ffs(a));
  put(__popc(a));
  put(__byte_perm(a, b, c));
  put(__umulhi(a, b));
  put(__mulhi((int)a, (int)b));
  put(__funnelshift_l(a, b, c));
  put(__funnelshift_rc(a, b, c & 63));
  put(__sad(a, b, c));
  put(__dp4a((int)a, (int)b, (int)c));
  put((unsigned)(__brevll((unsigned long long)a << 32 | b) >> 32));
  put(__clzll((unsigned long long)a << 32 | b));
  put((unsigned)(__umul64hi((unsigned long long)a << 32 | b, (unsigned long long)c << 32 | a)));
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b & 255), "r"(c & 255));
  put(v);
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b & 31), "r"(c & 31));
  put(v);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(v) : "r"(a), "r"(b), "r"(c & 31), "r"(c >> 8 & 31));
  put(v);
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
  put(v);
  asm("shl.b32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(c & 63));
  put(v);
  asm("shr.s32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(c & 63));
  put(v);
}

// Of the warp: every lane of full warps.
extern "C" __global__ void warp(const int *values, unsigned *out) {
  int lane = threadIdx.x, k = 0, v = values[lane];
  auto put = [&](unsigned value) { out[k++ * 32 + lane] = value; };
  put(__shfl_xor_sync(~0u, v, 5));
  put(__shfl_up_sync(~0u, v, 3));
  put(__shfl_down_sync(~0u, v, 7, 16));
  put(__shfl_sync(~0u, v, 9));
  put(__shfl_sync(~0u, v, lane * 3, 8));
  put(__ballot_sync(~0u, v > 0));
  put(__any_sync(~0u, v > 1000));
  put(__all_sync(~0u, v > -1000));
  put(__reduce_add_sync(~0u, v));
  put(__reduce_max_sync(~0u, v));
  put(__reduce_xor_sync(~0u, (unsigned)v));
  put(__match_any_sync(~0u, v & 3));
  unsigned odd = 0;
  if (lane & 1) {
    odd = __activemask();
    odd += __shfl_xor_sync(0xaaaaaaaau, lane, 2);
  }
  __syncwarp();
  put(odd);
}

// Half the arithmetic of f16 and bf16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <typename H> __device__ void halves(const H *as, const H *bs, const H *cs, H *out, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x, k = 0;
  if (i >= n)
    return;
  H a = as[i], b = bs[i], c = cs[i];
  out[k++ * n + i] = __hadd(a, b);
  out[k++ * n + i] = __hsub(a, b);
  out[k++ * n + i] = __hmul(a, b);
  out[k++ * n + i] = __hfma(a, b, c);
  out[k++ * n + i] = __hmax(a, b);
  out[k++ * n + i] = __hmin(a, b);
  out[k++ * n + i] = __hneg(a);
  out[k++ * n + i] = __habs(a);
  out[k++ * n + i] = __hlt(a, b) ? a : c;
}
extern "C" __global__ void half16(const __half *a, const __half *b, const __half *c, __half *out, int n) { halves(a, b, c, out, n); }
extern "C" __global__ void bfloat16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const __nv_bfloat16 *c, __nv_bfloat16 *out, int n) {
  halves(a, b, c, out, n);
}

// Roundings that are not to nearest.
extern "C" __global__ void roundings(const float *as, const float *bs, const double *ds, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  if (i >= n)
    return;
  float a = as[i], b = bs[i];
  auto put = [&](float value) { out[k++ * n + i] = value; };
  put(__fadd_rz(a, b));
  put(__fadd_rd(a, b));
  put(__fadd_ru(a, b));
  put(__fmul_rz(a, b));
  put(__fdiv_rd(a, b));
  put(__fsqrt_ru(fabsf(a)));
  put(__fmaf_rz(a, b, a));
  put(__double2float_rz(ds[i]));
  put(__double2float_ru(ds[i]));
  put(__double2float_rd(ds[i]));
  put(__ll2float_rz((long long)(ds[i] * 1e9)));
  put((float)__float2int_rd(a));
  put((float)__float2int_ru(a));
  put((float)__float2int_rn(a));
  put(__half2float(__float2half_rz(a)));
  put(__half2float(__float2half_ru(a)));
  put(__saturatef(a));
}
