/*===- train.c - Training from C --------------------------------------------===
 *
 * Opens an artifact, trains on data made up here, saves, and goes on from what
 * was saved. Builds against amp-c/amp.h and libamp_runtime alone:
 *
 *   cc -Iinclude examples/train.c -Lbuild/lib -lamp_runtime -o train
 *   ./train step/ 20 checkpoint.safetensors
 *
 *===----------------------------------------------------------------------===*/

#include "amp-c/amp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what went wrong and ends the program. */
static void check(amp_step *step, amp_status status, const char *what) {
  char text[1024];
  if (status == AMP_OK)
    return;
  amp_error_text(step, text, sizeof(text));
  fprintf(stderr, "%s: %s: %s\n", what, amp_status_name(status), text);
  exit(1);
}

static float next_random(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(*seed >> 8) / (float)(1 << 24);
}

/* Numbers for one batch: floats below one, integers zero or one. */
static void fill(amp_view view, void *data, unsigned *seed) {
  size_t count = 1;
  for (int32_t i = 0; i < view.rank; ++i)
    count *= (size_t)view.shape[i];
  for (size_t i = 0; i < count; ++i) {
    float value = next_random(seed);
    if (view.dtype == AMP_F32)
      ((float *)data)[i] = value;
    else if (view.dtype == AMP_I64)
      ((int64_t *)data)[i] = value > 0.5f;
    else if (view.dtype == AMP_I32)
      ((int32_t *)data)[i] = value > 0.5f;
    else
      memset(data, 0, view.bytes);
  }
}

enum { most_inputs = 16 };

/* Memory for every input and label the artifact has. */
static size_t make_inputs(amp_step *step, amp_buffer *inputs, amp_view *views) {
  size_t count = 0;
  for (size_t i = 0; i < amp_tensor_count(step); ++i) {
    amp_view view;
    check(step, amp_tensor_at(step, i, &view), "tensor");
    if (strcmp(view.role, "input") != 0 && strcmp(view.role, "label") != 0)
      continue;
    if (count == most_inputs) {
      fprintf(stderr, "too many inputs\n");
      exit(1);
    }
    views[count] = view;
    inputs[count].name = view.name;
    inputs[count].data = aligned_alloc(64, (view.bytes + 63) / 64 * 64);
    inputs[count].dtype = view.dtype;
    inputs[count].rank = view.rank;
    inputs[count].shape = view.shape;
    ++count;
  }
  return count;
}

static void train(amp_step *step, int steps) {
  amp_buffer inputs[most_inputs];
  amp_view views[most_inputs];
  amp_stats stats;
  unsigned seed = 1;
  size_t count = make_inputs(step, inputs, views);
  for (size_t i = 0; i < count; ++i)
    fill(views[i], inputs[i].data, &seed);
  for (int i = 0; i < steps; ++i) {
    check(step, amp_train_step(step, inputs, count, NULL, 0), "train_step");
    check(step, amp_get_stats(step, &stats), "stats");
    printf("step %lld loss %.9g scale %g applied %lld skipped %lld\n",
           (long long)stats.iteration, stats.loss, stats.scale,
           (long long)stats.applied, (long long)stats.skipped);
  }
  for (size_t i = 0; i < count; ++i)
    free(inputs[i].data);
}

/* The handle is there to be asked also when opening failed. */
static amp_step *open_step(const char *path) {
  amp_step *step;
  amp_status status = amp_open(path, NULL, &step);
  check(step, status, "open");
  return step;
}

int main(int argc, char **argv) {
  amp_step *step;
  if (argc != 4) {
    fprintf(stderr, "usage: train ARTIFACT STEPS CHECKPOINT\n");
    return 2;
  }
  if (amp_abi_version() != AMP_ABI_VERSION) {
    fprintf(stderr, "the library is of another version than the header\n");
    return 1;
  }
  step = open_step(argv[1]);
  train(step, atoi(argv[2]));
  check(step, amp_save(step, argv[3], 0), "save");
  amp_close(step);

  /* A new handle goes on where the first one stopped. */
  step = open_step(argv[1]);
  check(step, amp_load(step, argv[3], 0), "load");
  train(step, 1);
  amp_close(step);
  return 0;
}
