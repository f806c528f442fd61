/*===- amp.h - Load and run compiled steps ----------------------------------===
 *
 * The C interface of libamp_runtime: opens an artifact that amp-compile wrote,
 * runs its entries (train_step, eval_step, infer), gives access to its tensors,
 * and saves and loads checkpoints. Plain C; docs/c-api.md explains it.
 *
 * Every function that can fail returns an amp_status; the text of the last
 * failure is kept in the handle (amp_error_text). Calls on one handle may come
 * from any thread, they run one after the other; different handles are
 * independent. Nothing is kept outside of handles.
 *
 *===----------------------------------------------------------------------===*/

#ifndef AMP_C_AMP_H
#define AMP_C_AMP_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define AMP_API __attribute__((visibility("default")))
#else
#define AMP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Number of this interface; it grows when something incompatible changes. */
#define AMP_ABI_VERSION 1

/** An opened artifact with its state. */
typedef struct amp_step amp_step;

typedef enum amp_status {
  AMP_OK = 0,
  AMP_INVALID_ARGUMENT = 1, /**< the call itself is wrong */
  AMP_NOT_FOUND = 2,        /**< no tensor, entry or file of that name */
  AMP_MISMATCH = 3,         /**< dtype, shape, fingerprint, ABI or CPU differ */
  AMP_BAD_FILE = 4,         /**< a file is truncated or malformed */
  AMP_IO = 5,               /**< the system could not read or write */
  AMP_OUT_OF_MEMORY = 6,
  AMP_UNSUPPORTED = 7, /**< well-formed, but not something this version does */
  AMP_FAILED = 8       /**< compiled code reported a failure */
} amp_status;

typedef enum amp_dtype {
  AMP_F32 = 1,
  AMP_F16 = 2,
  AMP_BF16 = 3,
  AMP_F64 = 4,
  AMP_I64 = 5,
  AMP_I32 = 6,
  AMP_I8 = 7,
  AMP_U8 = 8,
  AMP_I1 = 9 /**< one byte, 0 or 1 */
} amp_dtype;

/** A tensor's memory, dense and row-major. What it points to belongs to the
 * handle and stays valid until amp_close (or amp_bind of the same tensor). */
typedef struct amp_view {
  const char *name;
  const char *role; /**< "parameter", "input", "loss", ... */
  void *data; /**< NULL for inputs and outputs that have no memory yet, and for
                   what lies on a device (amp_read_tensor reads it) */
  size_t bytes;
  int32_t dtype; /**< an amp_dtype */
  int32_t rank;
  const int64_t *shape;   /**< `rank` sizes */
  const int64_t *strides; /**< `rank` distances, in elements */
} amp_view;

/** Memory of the caller that an entry reads or writes. */
typedef struct amp_buffer {
  const char *name; /**< the tensor; NULL: the one at this position */
  void *data;
  int32_t dtype;
  int32_t rank;
  const int64_t *shape;
} amp_buffer;

/** Numbers of the last step; what the artifact does not compute is NaN or 0. */
typedef struct amp_stats {
  double loss;      /**< unscaled */
  double grad_norm; /**< unscaled, before clipping */
  double scale;     /**< after the step's update */
  int32_t found_inf;
  int64_t applied; /**< steps that updated the parameters */
  int64_t skipped; /**< steps that did not: a gradient was not finite */
  int64_t iteration;
} amp_stats;

typedef struct amp_options {
  size_t size;     /**< sizeof(amp_options); smaller, from older headers: what
                      follows is as if 0 */
  int32_t threads; /**< 0: one per core */
  /** Where tensors and workspace live; both NULL: the runtime's own memory. */
  void *(*allocate)(void *context, size_t bytes, size_t alignment);
  void (*release)(void *context, void *memory, size_t bytes);
  void *context;
  /** Of artifacts for CUDA: the driver library, or "emulator"; NULL:
   * $AMP_CUDA_DRIVER, or libcuda.so.1. */
  const char *cuda_driver;
} amp_options;

/** The AMP_ABI_VERSION the library was built with. */
AMP_API int32_t amp_abi_version(void);
/** The library's version, "0.1.0". */
AMP_API const char *amp_version(void);
/** "ok", "mismatch", ... */
AMP_API const char *amp_status_name(amp_status status);

/** Opens a directory (or the same as an uncompressed zip file). `options` may
 * be NULL. On failure *step is a handle that can only be asked for its error
 * text and closed (NULL if there was no memory for it). */
AMP_API amp_status amp_open(const char *path, const amp_options *options,
                            amp_step **step);
AMP_API void amp_close(amp_step *step);

/** Copies the text of the last failed call, cut to `size` bytes with the final
 * zero, and returns its whole length. */
AMP_API size_t amp_error_text(amp_step *step, char *text, size_t size);

/** What the artifact is, as JSON; valid until amp_close. */
AMP_API amp_status amp_info(amp_step *step, const char **json);

AMP_API size_t amp_tensor_count(amp_step *step);
AMP_API amp_status amp_tensor_at(amp_step *step, size_t index, amp_view *view);
AMP_API amp_status amp_tensor(amp_step *step, const char *name, amp_view *view);

/** Copies the value of a tensor out of or into the handle; `bytes` is its size.
 * Both work for all targets; amp_read_tensor waits for the step that is under
 * way. Only state can be written. */
AMP_API amp_status amp_read_tensor(amp_step *step, const char *name,
                                   void *target, size_t bytes);
AMP_API amp_status amp_write_tensor(amp_step *step, const char *name,
                                    const void *source, size_t bytes);
/** Where a tensor lies in the memory of the device, for artifacts for CUDA: a
 * CUdeviceptr in the primary context, valid until amp_close or amp_bind. */
AMP_API amp_status amp_device_address(amp_step *step, const char *name,
                                      void **address);

/** Moves a state tensor into memory of the caller (aligned to 64 bytes, at
 * least as large as the tensor), which must outlive the handle or the next
 * amp_bind; NULL moves it back. The value is kept. */
AMP_API amp_status amp_bind(amp_step *step, const char *name, void *memory,
                            size_t bytes);

/** Hyper-parameters ("lr"). Setting one takes it from the schedule. */
AMP_API amp_status amp_set_hyper(amp_step *step, const char *name,
                                 double value);
AMP_API amp_status amp_get_hyper(amp_step *step, const char *name,
                                 double *value);
/** Gives all hyper-parameters back to the schedule of the artifact. */
AMP_API amp_status amp_follow_schedule(amp_step *step);

/** Threads the next calls use; 0: one per core. Results do not depend on it. */
AMP_API amp_status amp_set_threads(amp_step *step, int32_t threads);

/** Runs an entry. Every input and label must be given, by name or, when all
 * names are NULL, in the order of the entry's list. Outputs, losses, metrics
 * and gradients that are asked for are written; others are not needed.
 * Memory aligned as its elements are is used where it lies, other is copied. */
AMP_API amp_status amp_run(amp_step *step, const char *entry,
                           const amp_buffer *inputs, size_t num_inputs,
                           const amp_buffer *outputs, size_t num_outputs);
AMP_API amp_status amp_train_step(amp_step *step, const amp_buffer *inputs,
                                  size_t num_inputs, const amp_buffer *outputs,
                                  size_t num_outputs);
AMP_API amp_status amp_eval_step(amp_step *step, const amp_buffer *inputs,
                                 size_t num_inputs, const amp_buffer *outputs,
                                 size_t num_outputs);
AMP_API amp_status amp_infer(amp_step *step, const amp_buffer *inputs,
                             size_t num_inputs, const amp_buffer *outputs,
                             size_t num_outputs);

AMP_API amp_status amp_get_stats(amp_step *step, amp_stats *stats);

/** Sets all state back to what the artifact starts from. */
AMP_API amp_status amp_reset(amp_step *step);

enum {
  AMP_SAVE_WEIGHTS_ONLY = 1, /**< parameters and buffers */
  AMP_SAVE_PLAIN_NAMES = 2   /**< weights under their names alone, as a torch
                                  state_dict has them */
};
/** Writes a checkpoint: npz if the path ends so, else safetensors. The file
 * appears whole or not at all. */
AMP_API amp_status amp_save(amp_step *step, const char *path, uint32_t flags);

enum {
  AMP_LOAD_ALLOW_MISSING = 1,  /**< what the file lacks keeps its value */
  AMP_LOAD_WEIGHTS_ONLY = 2,   /**< parameters and buffers, of any artifact */
  AMP_LOAD_CAST = 4,           /**< f16 and bf16 values may fill f32 tensors */
  AMP_LOAD_ANY_FINGERPRINT = 8 /**< from another compilation of the model */
};
/** Reads a checkpoint: safetensors, npz, or a torch .pt file of tensors. When
 * it fails nothing has changed. */
AMP_API amp_status amp_load(amp_step *step, const char *path, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif /* AMP_C_AMP_H */
