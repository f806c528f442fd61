//===- Proto.h - Types, tensors and attributes between protobuf and IR ----===//
//
// The pieces that the importer, the exporter and type inference share. Only these rooms see onnx headers.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_ONNX_PROTO_PROTO_H
#define AMP_ONNX_PROTO_PROTO_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/Error.h"

namespace amp::proto {

/// The element type of `TensorProto.DataType` value `dataType`; null when it is no known type.
mlir::Type importElementType(int32_t dataType, mlir::MLIRContext *context);

/// The `TensorProto.DataType` value of an element type; 0 (UNDEFINED) when ONNX has none.
int32_t exportElementType(mlir::Type elementType);

/// The type a proto describes, dimension names included; `!onnx.unknown` when it says nothing or names an unknown element type.
mlir::Type importType(const ::onnx::TypeProto &proto, mlir::MLIRContext *context);

/// Writes `type` into an empty `proto`; `!onnx.unknown` leaves it empty.
void exportType(mlir::Type type, ::onnx::TypeProto &proto);

/// Bits of one element in a tensor's raw data (4 for int4); 0 for strings.
unsigned getElementBits(mlir::Type elementType);

/// Bytes of raw data a tensor of this type has; std::nullopt when that does not fit in 63 bits or the type has no raw form.
std::optional<uint64_t> getRawSize(mlir::ShapedType type);

/// A tensor as an attribute. `raw`, when given, is its data in ONNX's raw layout (else the proto's own fields are used);
/// the attribute copies it. Errors (unknown type, negative dimension, too little or too much data) come back as text.
llvm::Expected<mlir::ElementsAttr> importTensor(const ::onnx::TensorProto &proto, mlir::MLIRContext *context,
                                                std::optional<llvm::ArrayRef<char>> raw = std::nullopt);

/// The shape and element type of a tensor proto, checked: known type, no negative dimension, size without overflow.
llvm::Expected<mlir::RankedTensorType> importTensorType(const ::onnx::TensorProto &proto, mlir::MLIRContext *context);

/// The attribute's data in ONNX's raw layout: without a copy when it lies in memory like that, else in `buffer`.
/// Strings have no raw layout: empty.
llvm::ArrayRef<char> getRawData(mlir::ElementsAttr value, llvm::SmallVectorImpl<char> &buffer);

/// Writes type, dims and data into an empty `proto` (raw_data; string_data for strings).
void exportTensor(mlir::ElementsAttr value, ::onnx::TensorProto &proto);

/// A node attribute that is not a graph, as docs/rationale/onnx.md maps it; what has no better form becomes `#onnx.proto`.
llvm::Expected<mlir::Attribute> importAttribute(const ::onnx::AttributeProto &proto, mlir::MLIRContext *context);

/// Writes `value` into `proto` (name set by the caller, no graphs).
void exportAttribute(mlir::Attribute value, ::onnx::AttributeProto &proto);

} // namespace amp::proto

#endif // AMP_ONNX_PROTO_PROTO_H
