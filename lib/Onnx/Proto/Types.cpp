//===- Types.cpp - Types between protobuf and IR --------------------------===//
//
// Element types, tensor types with dimension names, and the containers around
// them.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp::onnx;
using ::onnx::TensorProto;
using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

Type amp::proto::importElementType(int32_t dataType, MLIRContext *context) {
  auto signlessInt = [&](unsigned width) {
    return IntegerType::get(context, width);
  };
  auto unsignedInt = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (dataType) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TensorProto::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TensorProto::FLOAT8E8M0:
    return Float8E8M0FNUType::get(context);
  case TensorProto::FLOAT4E2M1:
    return Float4E2M1FNType::get(context);
  case TensorProto::COMPLEX64:
    return ComplexType::get(Float32Type::get(context));
  case TensorProto::COMPLEX128:
    return ComplexType::get(Float64Type::get(context));
  case TensorProto::BOOL:
    return signlessInt(1);
  case TensorProto::INT2:
    return signlessInt(2);
  case TensorProto::INT4:
    return signlessInt(4);
  case TensorProto::INT8:
    return signlessInt(8);
  case TensorProto::INT16:
    return signlessInt(16);
  case TensorProto::INT32:
    return signlessInt(32);
  case TensorProto::INT64:
    return signlessInt(64);
  case TensorProto::UINT2:
    return unsignedInt(2);
  case TensorProto::UINT4:
    return unsignedInt(4);
  case TensorProto::UINT8:
    return unsignedInt(8);
  case TensorProto::UINT16:
    return unsignedInt(16);
  case TensorProto::UINT32:
    return unsignedInt(32);
  case TensorProto::UINT64:
    return unsignedInt(64);
  case TensorProto::STRING:
    return StringType::get(context);
  default:
    return {};
  }
}

static int32_t exportIntegerType(IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return TensorProto::BOOL;
  case 2:
    return isUnsigned ? TensorProto::UINT2 : TensorProto::INT2;
  case 4:
    return isUnsigned ? TensorProto::UINT4 : TensorProto::INT4;
  case 8:
    return isUnsigned ? TensorProto::UINT8 : TensorProto::INT8;
  case 16:
    return isUnsigned ? TensorProto::UINT16 : TensorProto::INT16;
  case 32:
    return isUnsigned ? TensorProto::UINT32 : TensorProto::INT32;
  case 64:
    return isUnsigned ? TensorProto::UINT64 : TensorProto::INT64;
  default:
    return TensorProto::UNDEFINED;
  }
}

int32_t amp::proto::exportElementType(Type elementType) {
  return llvm::TypeSwitch<Type, int32_t>(elementType)
      .Case<IntegerType>(exportIntegerType)
      .Case<Float32Type>([](auto) { return TensorProto::FLOAT; })
      .Case<Float64Type>([](auto) { return TensorProto::DOUBLE; })
      .Case<Float16Type>([](auto) { return TensorProto::FLOAT16; })
      .Case<BFloat16Type>([](auto) { return TensorProto::BFLOAT16; })
      .Case<Float8E4M3FNType>([](auto) { return TensorProto::FLOAT8E4M3FN; })
      .Case<Float8E4M3FNUZType>(
          [](auto) { return TensorProto::FLOAT8E4M3FNUZ; })
      .Case<Float8E5M2Type>([](auto) { return TensorProto::FLOAT8E5M2; })
      .Case<Float8E5M2FNUZType>(
          [](auto) { return TensorProto::FLOAT8E5M2FNUZ; })
      .Case<Float8E8M0FNUType>([](auto) { return TensorProto::FLOAT8E8M0; })
      .Case<Float4E2M1FNType>([](auto) { return TensorProto::FLOAT4E2M1; })
      .Case<StringType>([](auto) { return TensorProto::STRING; })
      .Case<ComplexType>([](ComplexType complex) {
        return complex.getElementType().isF32()   ? TensorProto::COMPLEX64
               : complex.getElementType().isF64() ? TensorProto::COMPLEX128
                                                  : TensorProto::UNDEFINED;
      })
      .Default([](auto) { return TensorProto::UNDEFINED; });
}

unsigned amp::proto::getElementBits(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * getElementBits(complex.getElementType());
  if (!elementType.isIntOrFloat())
    return 0;
  // A bool takes a whole byte.
  return elementType.isInteger(1) ? 8 : elementType.getIntOrFloatBitWidth();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The tensor type of an element type and a shape (null: unranked).
static TensorType importTensorShape(Type elementType,
                                    const TensorShapeProto *proto) {
  if (!proto)
    return UnrankedTensorType::get(elementType);
  MLIRContext *context = elementType.getContext();
  SmallVector<int64_t, 6> shape;
  SmallVector<Attribute, 6> names;
  bool keepNames = false;
  for (const auto &dim : proto->dim()) {
    if (dim.has_dim_value()) {
      // A negative value is no size, yet the file's author wrote it.
      bool isSize = dim.dim_value() >= 0;
      shape.push_back(isSize ? dim.dim_value() : ShapedType::kDynamic);
      names.push_back(isSize ? Attribute(StringAttr::get(context))
                             : IntegerAttr::get(IntegerType::get(context, 64),
                                                dim.dim_value()));
      keepNames |= !isSize;
      continue;
    }
    shape.push_back(ShapedType::kDynamic);
    names.push_back(StringAttr::get(context, dim.dim_param()));
    keepNames |= !dim.dim_param().empty();
  }
  return RankedTensorType::get(shape, elementType,
                               keepNames ? DimsAttr::get(context, names)
                                         : Attribute());
}

/// A tensor or sparse tensor message's type; null when the element type is
/// unknown.
template <typename Tensor>
static TensorType importTensorMessage(const Tensor &tensor,
                                      MLIRContext *context) {
  Type elementType = amp::proto::importElementType(tensor.elem_type(), context);
  if (!elementType)
    return {};
  return importTensorShape(elementType,
                           tensor.has_shape() ? &tensor.shape() : nullptr);
}

/// As importType, but null where that says unknown.
static Type importKnownType(const TypeProto &proto, MLIRContext *context) {
  switch (proto.value_case()) {
  case TypeProto::kTensorType:
    return importTensorMessage(proto.tensor_type(), context);
  case TypeProto::kSparseTensorType: {
    Type tensor = importTensorMessage(proto.sparse_tensor_type(), context);
    return tensor ? SparseTensorType::get(context, tensor) : Type();
  }
  case TypeProto::kSequenceType: {
    Type element = importKnownType(proto.sequence_type().elem_type(), context);
    return element ? SequenceType::get(context, element) : Type();
  }
  case TypeProto::kOptionalType: {
    Type element = importKnownType(proto.optional_type().elem_type(), context);
    return element ? OptionalType::get(context, element) : Type();
  }
  case TypeProto::kMapType: {
    Type key =
        amp::proto::importElementType(proto.map_type().key_type(), context);
    Type value = importKnownType(proto.map_type().value_type(), context);
    return key && value ? MapType::get(context, key, value) : Type();
  }
  case TypeProto::kOpaqueType:
    return amp::onnx::OpaqueType::get(context, proto.opaque_type().domain(),
                                      proto.opaque_type().name());
  case TypeProto::VALUE_NOT_SET:
    return {};
  }
  return {};
}

Type amp::proto::importType(const TypeProto &proto, MLIRContext *context) {
  Type type = importKnownType(proto, context);
  return type ? type : UnknownType::get(context);
}

template <typename Tensor>
static void exportTensorMessage(Type type, Tensor &proto) {
  auto tensor = cast<TensorType>(type);
  proto.set_elem_type(amp::proto::exportElementType(tensor.getElementType()));
  auto ranked = dyn_cast<RankedTensorType>(tensor);
  if (!ranked)
    return;
  TensorShapeProto &shape = *proto.mutable_shape();
  auto dims = dyn_cast_or_null<DimsAttr>(ranked.getEncoding());
  for (auto [index, size] : llvm::enumerate(ranked.getShape())) {
    auto &dim = *shape.add_dim();
    if (!ShapedType::isDynamic(size)) {
      dim.set_dim_value(size);
      continue;
    }
    Attribute name = dims && index < dims.getNames().size()
                         ? dims.getNames()[index]
                         : Attribute();
    if (auto value = dyn_cast_or_null<IntegerAttr>(name))
      dim.set_dim_value(value.getInt());
    else if (auto text = dyn_cast_or_null<StringAttr>(name);
             text && !text.empty())
      dim.set_dim_param(text.str());
  }
}

void amp::proto::exportType(Type type, TypeProto &proto) {
  llvm::TypeSwitch<Type>(type)
      .Case<TensorType>([&](auto tensor) {
        exportTensorMessage(tensor, *proto.mutable_tensor_type());
      })
      .Case<SparseTensorType>([&](auto sparse) {
        exportTensorMessage(sparse.getTensorType(),
                            *proto.mutable_sparse_tensor_type());
      })
      .Case<SequenceType>([&](auto sequence) {
        exportType(sequence.getElementType(),
                   *proto.mutable_sequence_type()->mutable_elem_type());
      })
      .Case<OptionalType>([&](auto optional) {
        exportType(optional.getElementType(),
                   *proto.mutable_optional_type()->mutable_elem_type());
      })
      .Case<MapType>([&](auto map) {
        proto.mutable_map_type()->set_key_type(
            exportElementType(map.getKeyType()));
        exportType(map.getValueType(),
                   *proto.mutable_map_type()->mutable_value_type());
      })
      .Case<amp::onnx::OpaqueType>([&](auto opaque) {
        auto &message = *proto.mutable_opaque_type();
        if (!opaque.getDomain().empty())
          message.set_domain(opaque.getDomain().str());
        if (!opaque.getName().empty())
          message.set_name(opaque.getName().str());
      });
}
