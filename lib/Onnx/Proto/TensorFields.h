//===- TensorFields.h - Tensor data from a proto's typed fields -----------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ONNX_PROTO_TENSORFIELDS_H
#define AMP_LIB_ONNX_PROTO_TENSORFIELDS_H

#include "mlir/IR/BuiltinTypes.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/Error.h"

namespace amp::proto {

/// The data of `proto`'s typed fields (float_data, int32_data, ...) in raw
/// layout. Fails when their number does not fit `type`.
llvm::Error packTypedData(const ::onnx::TensorProto &proto,
                          mlir::RankedTensorType type,
                          llvm::SmallVectorImpl<char> &raw);

/// An error that names the tensor.
llvm::Error makeTensorError(const ::onnx::TensorProto &proto,
                            const llvm::Twine &message);

} // namespace amp::proto

#endif // AMP_LIB_ONNX_PROTO_TENSORFIELDS_H
