//===- Attributes.h - Attributes of operators from Python -------*- C++ -*-===//
//
// The operator's schema says which form a Python value takes.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_ATTRIBUTES_H
#define AMP_PYTHON_SRC_ATTRIBUTES_H

#include "amp/Dialect/Onnx/IR/OnnxSpecs.h"
#include "mlir/IR/OperationSupport.h"
#include <nanobind/nanobind.h>

namespace amp::python {

/// Adds `attributes` (by ONNX's names; None: absent) of the operator `spec`;
/// those with a dot in their name become discardable attributes.
/// Throws Error for names it does not have, values of the wrong kind, and
/// required ones that are missing.
void addAttributes(const onnx::OpSpec &spec, nanobind::dict attributes,
                   mlir::OperationState &state);

} // namespace amp::python

#endif // AMP_PYTHON_SRC_ATTRIBUTES_H
