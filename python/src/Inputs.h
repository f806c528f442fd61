//===- Inputs.h - Arguments of a call as the C interface takes them -------===//
//
// Arrays of any library that speaks DLPack or the buffer protocol.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_INPUTS_H
#define AMP_PYTHON_SRC_INPUTS_H

#include "Step.h"
#include <nanobind/ndarray.h>

namespace amp::python {

/// The arguments of one call, matched with an entry's inputs and checked. They
/// are used where they lie; one that is not contiguous is copied.
class Inputs {
public:
  /// Throws StepError, which names the argument.
  Inputs(const EntrySpec &entry, nanobind::tuple arguments,
         nanobind::dict named);

  const std::vector<amp_buffer> &getBuffers() const { return buffers; }
  /// Names of those that were copied.
  const std::vector<std::string> &getCopied() const { return copied; }

private:
  using Array = nanobind::ndarray<nanobind::ro>;

  void add(const TensorSpec &tensor, nanobind::handle argument);
  /// Takes a torch tensor that fits as it is; what does not is left to `add`.
  bool addTorch(const TensorSpec &tensor, nanobind::handle argument);
  void addBuffer(const TensorSpec &tensor, void *data);

  const EntrySpec &entry;
  std::vector<Array> arrays;
  std::vector<nanobind::object> tensors;
  std::vector<Memory> memory;
  std::vector<amp_buffer> buffers;
  std::vector<std::string> copied;
};

} // namespace amp::python

#endif // AMP_PYTHON_SRC_INPUTS_H
