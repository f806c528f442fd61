//===- Arrays.h - Types and data between Python and IR ----------*- C++ -*-===//
//
// Names of element types, arrays as attributes without a copy.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_ARRAYS_H
#define AMP_PYTHON_SRC_ARRAYS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <nanobind/nanobind.h>
#include <string>

namespace amp::python {

/// "f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8", "i1", ... Throws for
/// other names.
mlir::Type parseElementType(llvm::StringRef name, mlir::MLIRContext *context);
/// The inverse; MLIR's spelling for what has no name there.
std::string getElementName(mlir::Type elementType);

/// A tensor type of a list of sizes and of names of dimensions.
mlir::RankedTensorType parseTensorType(llvm::StringRef dtype,
                                       nanobind::sequence shape,
                                       mlir::MLIRContext *context);
/// The element name of a tensor type, or None.
nanobind::object getDtype(mlir::Type type);
/// The sizes and names of a tensor type's dimensions, None for those that have
/// neither; None for other types.
nanobind::object getShape(mlir::Type type);

/// The elements of a numpy array, a DLPack tensor in host memory, or, with
/// `dtype` and `shape`, bytes. With `dtype` the elements of an array are taken
/// as these (uint16 as bf16). Large ones are not copied: the attribute keeps
/// the Python object. `name` is the key of what is not copied.
mlir::ElementsAttr makeElements(nanobind::handle array, nanobind::object dtype,
                                nanobind::object shape, llvm::StringRef name,
                                mlir::MLIRContext *context);

} // namespace amp::python

#endif // AMP_PYTHON_SRC_ARRAYS_H
