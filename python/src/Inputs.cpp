//===- Inputs.cpp - Arguments of a call as the C interface takes them -----===//
//
// Type, device and shape are checked here, so that errors name the argument.
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include <cstring>
#include <nanobind/stl/string.h>

using namespace amp::python;
namespace nb = nanobind;

/// An amp_dtype, 0 for what artifacts do not have.
static int32_t getDtype(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  auto is = [&](Code code, int bits) {
    return dtype.code == uint8_t(code) && dtype.bits == bits &&
           dtype.lanes == 1;
  };
  struct Row {
    Code code;
    int bits;
    int32_t dtype;
  };
  static constexpr Row rows[] = {
      {Code::Float, 32, AMP_F32}, {Code::Int, 64, AMP_I64},
      {Code::Float, 16, AMP_F16}, {Code::Bfloat, 16, AMP_BF16},
      {Code::Float, 64, AMP_F64}, {Code::Int, 32, AMP_I32},
      {Code::Int, 8, AMP_I8},     {Code::UInt, 8, AMP_U8},
      {Code::Bool, 8, AMP_I1}};
  for (const Row &row : rows)
    if (is(row.code, row.bits))
      return row.dtype;
  return 0;
}

static std::string describe(const char *dtype, const int64_t *shape,
                            size_t rank) {
  std::string text = std::string(dtype) + "[";
  for (size_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

static std::string getTypeName(nb::handle object) {
  nb::handle type = object.type();
  return nb::cast<std::string>(type.attr("__module__")) + "." +
         nb::cast<std::string>(type.attr("__name__"));
}

[[noreturn]] static void fail(const EntrySpec &entry, const std::string &text) {
  throw StepError(entry.name + ": " + text);
}

/// Copies an array of any strides to dense memory.
static char *copyDense(const char *from, char *to, const int64_t *shape,
                       const int64_t *strides, size_t rank, size_t itemSize) {
  if (rank == 0) {
    std::memcpy(to, from, itemSize);
    return to + itemSize;
  }
  if (rank == 1 && strides[0] == 1) {
    std::memcpy(to, from, shape[0] * itemSize);
    return to + shape[0] * itemSize;
  }
  for (int64_t i = 0; i < shape[0]; ++i)
    to = copyDense(from + i * strides[0] * int64_t(itemSize), to, shape + 1,
                   strides + 1, rank - 1, itemSize);
  return to;
}

static bool isDense(const nb::ndarray<nb::ro> &array) {
  int64_t expected = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != expected)
      return false;
    expected *= array.shape(i);
  }
  return true;
}

void Inputs::add(const TensorSpec &tensor, nb::handle argument) {
  std::string where = "input '" + tensor.name + "'";
  std::string wanted = describe(getDtypeName(tensor.dtype), tensor.shape.data(),
                                tensor.shape.size());
  Array array;
  if (!nb::try_cast(argument, array)) {
    // A tensor that wants gradients does not hand its memory out.
    bool detaches = nb::hasattr(argument, "detach") &&
                    nb::hasattr(argument, "requires_grad");
    if (!detaches || !nb::try_cast(argument.attr("detach")(), array))
      fail(entry, where + " is " + wanted + ", but a " + getTypeName(argument) +
                      " was given; give a numpy array, a torch tensor, or "
                      "another object with __dlpack__");
  }
  if (array.device_type() != nb::device::cpu::value)
    fail(entry, where + " is on another device (DLPack device type " +
                    std::to_string(array.device_type()) +
                    "), but the step runs on the CPU; move it there (.cpu())");
  std::vector<int64_t> shape(array.ndim());
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] = array.shape(i);
  int32_t dtype = getDtype(array.dtype());
  if (dtype != tensor.dtype || shape != tensor.shape)
    fail(entry, where + " is " + wanted + ", but " +
                    describe(dtype ? getDtypeName(dtype) : "another type",
                             shape.data(), shape.size()) +
                    " was given");
  void *data = const_cast<void *>(array.data());
  if (!isDense(array)) {
    memory.push_back(allocate(tensor.bytes));
    copyDense(static_cast<const char *>(array.data()),
              static_cast<char *>(memory.back().get()), shape.data(),
              array.stride_ptr(), shape.size(), array.itemsize());
    data = memory.back().get();
    copied.push_back(tensor.name);
  }
  buffers.push_back({tensor.name.c_str(), data, tensor.dtype,
                     int32_t(tensor.shape.size()), tensor.shape.data()});
  arrays.push_back(std::move(array));
}

Inputs::Inputs(const EntrySpec &entry, nb::tuple arguments, nb::dict named)
    : entry(entry) {
  size_t numPositional = arguments.size(), numNamed = named.size();
  if (numPositional > entry.inputs.size())
    fail(entry, std::to_string(numPositional) +
                    " inputs were given, but it "
                    "takes " +
                    std::to_string(entry.inputs.size()));
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    const TensorSpec &tensor = entry.inputs[i];
    if (i < numPositional) {
      add(tensor, arguments[i]);
      continue;
    }
    if (!numNamed || !named.contains(tensor.name.c_str()))
      fail(entry, "the input '" + tensor.name + "' is missing");
    add(tensor, named[tensor.name.c_str()]);
    --numNamed;
  }
  if (numNamed == 0)
    return;
  std::string names;
  for (const TensorSpec &tensor : entry.inputs)
    names += (names.empty() ? "" : ", ") + tensor.name;
  fail(entry, "an input was given twice or is not known; there are " + names);
}
