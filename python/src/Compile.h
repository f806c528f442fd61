//===- Compile.h - The compiler as Python calls it --------------*- C++ -*-===//
//
// On a thread of its own, so that Ctrl-C ends it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_COMPILE_H
#define AMP_PYTHON_SRC_COMPILE_H

#include <nanobind/nanobind.h>

namespace amp::python {

/// Adds compile() and digest() to the extension module.
void bindCompile(nanobind::module_ &module);

} // namespace amp::python

#endif // AMP_PYTHON_SRC_COMPILE_H
