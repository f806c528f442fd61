//===- Arrays.cpp - Types and data between Python and IR ------------------===//
//
// Small arrays are copied into attributes that folders see; the others become
// resources over the memory of the Python object.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Context.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

using namespace mlir;
using namespace amp::python;
namespace nb = nanobind;

/// As importer and folders have it (docs/rationale/onnx.md).
static constexpr size_t maxCopiedBytes = 1024;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type amp::python::parseElementType(StringRef name, MLIRContext *context) {
  Builder builder(context);
  if (name == "f32")
    return builder.getF32Type();
  if (name == "f16")
    return builder.getF16Type();
  if (name == "bf16")
    return builder.getBF16Type();
  if (name == "f64")
    return builder.getF64Type();
  StringRef digits = name;
  bool isUnsigned = digits.consume_front("u");
  unsigned width;
  if ((isUnsigned || digits.consume_front("i")) &&
      !digits.getAsInteger(10, width) &&
      (llvm::is_contained({8u, 16u, 32u, 64u}, width) ||
       (width == 1 && !isUnsigned)))
    return isUnsigned ? IntegerType::get(context, width, IntegerType::Unsigned)
                      : IntegerType::get(context, width);
  throw Error("'" + name.str() +
              "' is no element type; there are f32, f16, bf16, f64, i64, i32, "
              "i16, i8, u64, u32, u16, u8 and i1");
}

std::string amp::python::getElementName(Type elementType) {
  auto integer = dyn_cast<IntegerType>(elementType);
  if (integer && integer.isUnsigned())
    return "u" + std::to_string(integer.getWidth());
  std::string text;
  llvm::raw_string_ostream(text) << elementType;
  return text;
}

RankedTensorType amp::python::parseTensorType(StringRef dtype,
                                              nb::sequence shape,
                                              MLIRContext *context) {
  Builder builder(context);
  SmallVector<int64_t> sizes;
  SmallVector<Attribute> names;
  bool hasNames = false;
  for (nb::handle size : shape) {
    if (nb::isinstance<nb::str>(size)) {
      sizes.push_back(ShapedType::kDynamic);
      names.push_back(builder.getStringAttr(nb::cast<std::string>(size)));
      hasNames = true;
      continue;
    }
    int64_t number = nb::cast<int64_t>(nb::int_(size));
    if (number < 0)
      throw Error("a dimension has the size " + std::to_string(number) +
                  "; give a size of at least 0, or a name");
    sizes.push_back(number);
    names.push_back(builder.getStringAttr(""));
  }
  return RankedTensorType::get(
      sizes, parseElementType(dtype, context),
      hasNames ? Attribute(onnx::DimsAttr::get(context, names)) : Attribute());
}

nb::object amp::python::getDtype(Type type) {
  Type element = onnx::getTensorElementType(type);
  return element ? nb::cast(getElementName(element)) : nb::none();
}

nb::object amp::python::getShape(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return nb::none();
  auto dims = dyn_cast_or_null<onnx::DimsAttr>(tensor.getEncoding());
  nb::list shape;
  for (auto [axis, size] : llvm::enumerate(tensor.getShape())) {
    if (!ShapedType::isDynamic(size))
      shape.append(size);
    else if (dims && !dims.getName(axis).empty())
      shape.append(dims.getName(axis).str());
    else
      shape.append(nb::none());
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

static Type getElementType(nb::dlpack::dtype dtype, MLIRContext *context) {
  using Code = nb::dlpack::dtype_code;
  std::string bits = std::to_string(dtype.bits);
  switch (Code(dtype.code)) {
  case Code::Bool:
    return parseElementType("i1", context);
  case Code::Int:
    return parseElementType("i" + bits, context);
  case Code::UInt:
    return parseElementType("u" + bits, context);
  case Code::Float:
    return parseElementType("f" + bits, context);
  case Code::Bfloat:
    return parseElementType("bf16", context);
  default:
    throw Error("an array has an element type that models do not have");
  }
}

/// An attribute over `bytes`, which `owner` keeps alive.
static ElementsAttr wrap(RankedTensorType type, ArrayRef<char> bytes,
                         std::shared_ptr<void> owner, StringRef name) {
  if (bytes.size() > maxCopiedBytes)
    return DenseResourceElementsAttr::get(
        type, name.empty() ? StringRef("data") : name,
        UnmanagedAsmResourceBlob::allocateWithAlign(
            bytes, /*align=*/1, [owner](void *, size_t, size_t) {}));
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> values(bytes.begin(), bytes.end());
  return DenseElementsAttr::get(type, values);
}

/// Lets go of `object` wherever the context dies: without the GIL, or after the
/// interpreter.
static std::shared_ptr<void> own(nb::object object) {
  return std::shared_ptr<void>(object.release().ptr(), [](void *kept) {
    if (!Py_IsInitialized())
      return;
    nb::gil_scoped_acquire gil;
    Py_DECREF(static_cast<PyObject *>(kept));
  });
}

static ElementsAttr wrapBytes(nb::bytes bytes, nb::object dtype,
                              nb::object shape, StringRef name,
                              MLIRContext *context) {
  if (dtype.is_none() || shape.is_none())
    throw Error("bytes need dtype and shape");
  RankedTensorType type = parseTensorType(
      nb::cast<std::string>(dtype), nb::cast<nb::sequence>(shape), context);
  if (!type.hasStaticShape())
    throw Error("the shape of bytes has a name in it");
  size_t bits = std::max(8u, type.getElementTypeBitWidth());
  if (bytes.size() != type.getNumElements() * bits / 8)
    throw Error(std::to_string(bytes.size()) + " bytes were given for " +
                std::to_string(type.getNumElements()) + " elements of " +
                getElementName(type.getElementType()));
  return wrap(type, ArrayRef(bytes.c_str(), bytes.size()), own(bytes), name);
}

ElementsAttr amp::python::makeElements(nb::handle array, nb::object dtype,
                                       nb::object shape, StringRef name,
                                       MLIRContext *context) {
  if (nb::isinstance<nb::bytes>(array))
    return wrapBytes(nb::borrow<nb::bytes>(array), dtype, shape, name, context);
  if (!shape.is_none())
    throw Error("shape is for bytes; an array has its own");
  using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
  auto data = std::make_shared<Array>();
  if (!nb::try_cast(array, *data))
    throw Error("expected a numpy array or a DLPack tensor in host memory, but "
                "got " +
                nb::cast<std::string>(nb::str(array.type())));
  SmallVector<int64_t> sizes;
  for (size_t i = 0; i < data->ndim(); ++i)
    sizes.push_back(data->shape(i));
  Type element = dtype.is_none()
                     ? getElementType(data->dtype(), context)
                     : parseElementType(nb::cast<std::string>(dtype), context);
  if (std::max(8u, element.getIntOrFloatBitWidth()) != data->dtype().bits)
    throw Error("an element of the array has " +
                std::to_string(data->dtype().bits) + " bits, one of " +
                getElementName(element) + " has not");
  ArrayRef bytes(static_cast<const char *>(data->data()), data->nbytes());
  return wrap(RankedTensorType::get(sizes, element), bytes, data, name);
}
