// Whole programs: calls, local arrays, tables, shared memory, atomics.
__device__ __noinline__ int gcd(int a, int b) {
  while (b) {
    int t = a % b;
    a = b;
    b = t;
  }
  return a;
}
struct Pair {
  int sum, product;
};
__device__ __noinline__ Pair combine(int a, int b) { return {a + gcd(a, b), a * b}; }
extern "C" __global__ void calls(const int *as, const int *bs, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Pair pair = {0, 0};
  if (i % 3)
    pair = combine(as[i], bs[i]);
  else
    pair.sum = gcd(as[i], bs[i]);
  out[i] = pair.sum * 7 + pair.product;
}

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ float scales[4] = {0.5f, 1.5f, 2.5f, 3.5f};
extern "C" __global__ void tables(const int *as, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int history[10];
  for (int j = 0; j < 10; ++j)
    history[(as[i] + j * 3) % 10] = j * table[(i + j) & 7];
  float sum = 0;
  for (int j = 0; j < 10; ++j)
    sum += history[j] * scales[(as[i] + j) & 3] * j;
  switch (as[i] % 7) {
  case 0: sum += 1; break;
  case 1: sum *= 2; break;
  case 2: sum -= 3; break;
  case 3: sum = -sum; break;
  case 4: sum += as[i]; break;
  case 5: sum *= sum; break;
  default: sum = 0;
  }
  out[i] = sum;
}

extern "C" __global__ void blockSum(const float *in, float *out, int n) {
  __shared__ float parts[256];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += in[blockIdx.x * n + i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step; step /= 2) {
    if (threadIdx.x < step)
      parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = parts[0];
}

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < columns && y + j < rows)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < rows && y + j < columns)
      out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void atomics(const int *in, int *counts, float *sum, unsigned *bits, unsigned long long *most, int n) {
  __shared__ int local[4];
  if (threadIdx.x < 4)
    local[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&local[in[i] & 3], 1);
    atomicAdd(sum, in[i] * 0.5f);
    atomicOr(bits, 1u << (in[i] & 31));
    atomicMax(most, (unsigned long long)in[i]);
    atomicCAS(counts + 4, i, -1);
  }
  __syncthreads();
  if (threadIdx.x < 4)
    atomicAdd(counts + threadIdx.x, local[threadIdx.x]);
}

// Divergence that meets again, with a loop of another length in each lane.
extern "C" __global__ void collatz(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  long long value = in[i];
  int steps = 0;
  while (value != 1) {
    if (value & 1)
      value = 3 * value + 1;
    else
      value /= 2;
    if (++steps > 1000)
      break;
  }
  out[i] = steps;
}
