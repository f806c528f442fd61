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

//===----------------------------------------------------------------------===//
// Torch tensors
//===----------------------------------------------------------------------===//

namespace {

/// Names of PyTorch, looked up once. Its __dlpack__ is a Python function that
/// takes longer than all of a small step.
struct Torch {
  nb::object tensor, strided, isCpu, layout, dtype, shape, isContiguous,
      dataPtr;
  std::vector<std::pair<nb::object, int32_t>> dtypes;

  explicit Torch(nb::handle module);
  /// The dtype of a tensor, 0 for what artifacts do not have.
  int32_t getDtype(nb::handle tensor) const;
};

} // namespace

Torch::Torch(nb::handle module)
    : tensor(module.attr("Tensor")), strided(module.attr("strided")) {
  auto intern = [](const char *text) {
    return nb::steal(PyUnicode_InternFromString(text));
  };
  isCpu = intern("is_cpu");
  layout = intern("layout");
  dtype = intern("dtype");
  shape = intern("shape");
  isContiguous = intern("is_contiguous");
  dataPtr = intern("data_ptr");
  for (auto [name, number] :
       std::initializer_list<std::pair<const char *, int>>{
           {"float32", AMP_F32},
           {"int64", AMP_I64},
           {"float16", AMP_F16},
           {"bfloat16", AMP_BF16},
           {"float64", AMP_F64},
           {"int32", AMP_I32},
           {"int8", AMP_I8},
           {"uint8", AMP_U8},
           {"bool", AMP_I1}})
    dtypes.emplace_back(module.attr(name), number);
}

int32_t Torch::getDtype(nb::handle tensor) const {
  nb::object found = tensor.attr(dtype);
  for (const auto &[object, number] : dtypes)
    if (object.is(found))
      return number;
  return 0;
}

/// Null unless PyTorch is loaded. Kept to the end of the process: by then its
/// objects may not be let go of.
static const Torch *getTorch() {
  static const Torch *torch = nullptr;
  if (torch)
    return torch;
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *module = PyDict_GetItemString(modules, "torch");
  if (module && nb::hasattr(nb::handle(module), "Tensor") &&
      nb::hasattr(nb::handle(module), "bool"))
    torch = new Torch(module);
  return torch;
}

static bool hasShape(nb::handle shape, const std::vector<int64_t> &wanted) {
  if (!PyTuple_Check(shape.ptr()) ||
      PyTuple_GET_SIZE(shape.ptr()) != Py_ssize_t(wanted.size()))
    return false;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i)) != wanted[i]) {
      PyErr_Clear();
      return false;
    }
  return true;
}

bool Inputs::addTorch(const TensorSpec &tensor, nb::handle argument) {
  const Torch *torch = getTorch();
  if (!torch || !PyObject_TypeCheck(
                    argument.ptr(),
                    reinterpret_cast<PyTypeObject *>(torch->tensor.ptr())))
    return false;
  try {
    if (!argument.attr(torch->isCpu).is(nb::handle(Py_True)) ||
        !argument.attr(torch->layout).is(torch->strided) ||
        torch->getDtype(argument) != tensor.dtype ||
        !hasShape(argument.attr(torch->shape), tensor.shape) ||
        !argument.attr(torch->isContiguous)().is(nb::handle(Py_True)))
      return false;
    auto address = nb::cast<uintptr_t>(argument.attr(torch->dataPtr)());
    addBuffer(tensor, reinterpret_cast<void *>(address));
  } catch (nb::python_error &) {
    // One without memory of its own: the general way explains it.
    return false;
  }
  tensors.push_back(nb::borrow(argument));
  return true;
}

//===----------------------------------------------------------------------===//
// All arrays
//===----------------------------------------------------------------------===//

void Inputs::addBuffer(const TensorSpec &tensor, void *data) {
  buffers.push_back({tensor.name.c_str(), data, tensor.dtype,
                     int32_t(tensor.shape.size()), tensor.shape.data()});
}

void Inputs::add(const TensorSpec &tensor, nb::handle argument) {
  if (addTorch(tensor, argument))
    return;
  auto where = [&] { return "input '" + tensor.name + "'"; };
  auto wanted = [&] {
    return where() + " is " +
           describe(getDtypeName(tensor.dtype), tensor.shape.data(),
                    tensor.shape.size());
  };
  Array array;
  if (!nb::try_cast(argument, array)) {
    // A tensor that wants gradients does not hand its memory out.
    bool detaches = nb::hasattr(argument, "detach") &&
                    nb::hasattr(argument, "requires_grad");
    if (!detaches || !nb::try_cast(argument.attr("detach")(), array))
      fail(entry, wanted() + ", but a " + getTypeName(argument) +
                      " was given; give a numpy array, a torch tensor, or "
                      "another object with __dlpack__");
  }
  if (array.device_type() != nb::device::cpu::value)
    fail(entry, where() + " is on another device (DLPack device type " +
                    std::to_string(array.device_type()) +
                    "), but the step runs on the CPU; move it there (.cpu())");
  std::vector<int64_t> shape(array.ndim());
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] = array.shape(i);
  int32_t dtype = getDtype(array.dtype());
  if (dtype != tensor.dtype || shape != tensor.shape)
    fail(entry, wanted() + ", but " +
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
  addBuffer(tensor, data);
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
