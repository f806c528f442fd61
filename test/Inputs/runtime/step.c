/* A hand-written artifact's code: softmax regression, SGD with momentum, and PyTorch's loss scaling.
 * The order of tensors is that of runtime_artifact.py. */
#include "amp-c/amp_host.h"
#include <math.h>
#include <string.h>

enum { B = 8, I = 4, O = 3 };

static void forward(const float *x, const float *w, const float *b, float *logits) {
  for (int n = 0; n < B; ++n)
    for (int o = 0; o < O; ++o) {
      float sum = b[o];
      for (int i = 0; i < I; ++i)
        sum += x[n * I + i] * w[i * O + o];
      logits[n * O + o] = sum;
    }
}

/* Mean cross entropy; `p` becomes the softmax. */
static float entropy(float *p, const int64_t *y) {
  float loss = 0;
  for (int n = 0; n < B; ++n) {
    float *row = p + n * O, top = row[0], sum = 0;
    for (int o = 1; o < O; ++o)
      top = row[o] > top ? row[o] : top;
    loss += top - row[y[n]];
    for (int o = 0; o < O; ++o)
      sum += row[o] = expf(row[o] - top);
    for (int o = 0; o < O; ++o)
      row[o] /= sum;
    loss += logf(sum);
  }
  return loss / B;
}

/* Rows of the gradient of w, one for each input: a task for the pool. The gradient is scaled in "half": it overflows at 65504. */
static void gradient(void *const *buffers, int64_t lo, int64_t hi) {
  const float *x = buffers[0], *d = buffers[1];
  float *g = buffers[2];
  for (int64_t i = lo; i < hi; ++i)
    for (int o = 0; o < O; ++o) {
      float sum = 0;
      for (int n = 0; n < B; ++n)
        sum += x[n * I + i] * d[n * O + o];
      g[i * O + o] = fabsf(sum) > 65504.0f ? INFINITY * (sum > 0 ? 1 : -1) : sum;
    }
}

static void update(float *p, float *m, const float *g, int count, float lr, float inverse) {
  for (int k = 0; k < count; ++k) {
    m[k] = 0.9f * m[k] + g[k] * inverse;
    p[k] -= lr * m[k];
  }
}

static void update_scale(float *scale, int32_t *tracker, int found) {
  if (found) {
    *scale *= 0.5f;
    *tracker = 0;
  } else if (++*tracker == 7) {
    *scale *= 2.0f;
    *tracker = 0;
  }
}

/* x y w b mw mb scale tracker applied iteration skipped lr loss found_inf grad_norm gw */
int32_t amp_train_step(void *const *t, void *workspace, const struct amp_host *host) {
  float *w = t[2], *b = t[3], *scale = t[6], *gw = t[15], *d = workspace;
  const int64_t *y = t[1];
  if (host->abi != AMP_HOST_ABI || (uintptr_t)workspace % 64)
    return 7;
  forward(t[0], w, b, d);
  *(float *)t[12] = entropy(d, y);
  for (int n = 0; n < B; ++n)
    for (int o = 0; o < O; ++o)
      d[n * O + o] = (d[n * O + o] - (y[n] == o)) * *scale / B;
  float gb[O] = {0}, inverse = 1.0f / *scale, squares = 0;
  for (int n = 0; n < B; ++n)
    for (int o = 0; o < O; ++o)
      gb[o] += d[n * O + o];
  void *buffers[] = {t[0], d, gw};
  host->parallel_for(host->pool, gradient, buffers, I, 1);
  for (int k = 0; k < I * O; ++k)
    squares += gw[k] * gw[k];
  for (int o = 0; o < O; ++o)
    squares += gb[o] * gb[o];
  int found = !isfinite(squares);
  *(float *)t[13] = (float)found;
  *(float *)t[14] = sqrtf(squares) * inverse;
  if (!found) {
    update(w, t[4], gw, I * O, *(float *)t[11], inverse);
    update(b, t[5], gb, O, *(float *)t[11], inverse);
    ++*(int64_t *)t[8];
  }
  *(int64_t *)t[10] += found;
  ++*(int64_t *)t[9];
  update_scale(scale, t[7], found);
  return 0;
}

/* x y w b loss logits */
int32_t amp_eval_step(void *const *t, void *workspace, const struct amp_host *host) {
  (void)host;
  forward(t[0], t[2], t[3], t[5]);
  memcpy(workspace, t[5], sizeof(float) * B * O);
  *(float *)t[4] = entropy(workspace, t[1]);
  return 0;
}

/* x w b logits */
int32_t amp_infer(void *const *t, void *workspace, const struct amp_host *host) {
  (void)workspace, (void)host;
  forward(t[0], t[1], t[2], t[3]);
  return 0;
}
