/*===- amp_host.h - What compiled code and its host say to each other -------===
 *
 * The calling convention of the entries in an artifact's libstep.so. Programs
 * use amp.h; this file is for code generators and for entries written by hand.
 *
 *===----------------------------------------------------------------------===*/

#ifndef AMP_C_AMP_HOST_H
#define AMP_C_AMP_HOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Number of this convention: `abi` of the manifest and of struct amp_host. */
#define AMP_HOST_ABI 1

/** Part of a kernel: iterations `lo` to `hi` (exclusive) of its range. */
typedef void (*amp_task)(void *const *buffers, int64_t lo, int64_t hi);

/** What the host lends an entry while it runs. */
struct amp_host {
  uint32_t abi;
  uint32_t threads;
  /** Runs `task` over 0 to `n` in pieces of at least `grain` iterations (the
   * last one may be shorter) and returns when all are done. */
  void (*parallel_for)(void *pool, amp_task task, void *const *buffers,
                       int64_t n, int64_t grain);
  void *pool;
};

/** An entry. `tensors` are in the order of the manifest's list for the entry:
 * inputs and outputs aligned as their elements are, all others and `workspace`
 * to 64 bytes. Returns 0 when it succeeded. */
typedef int32_t (*amp_entry)(void *const *tensors, void *workspace,
                             const struct amp_host *host);

#ifdef __cplusplus
}
#endif

#endif /* AMP_C_AMP_HOST_H */
