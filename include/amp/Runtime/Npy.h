//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
// npy and npz files, in and out.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_NPY_H
#define AMP_RUNTIME_NPY_H

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Zip.h"

namespace amp::runtime {

/// Parses one npy file; arrays in Fortran order are reordered. A two-byte void
/// type (what NumPy makes of bfloat16) is read as bf16.
Array readNpy(const Bytes &bytes, const std::string &name,
              const std::string &file);

/// Arrays under their names, without ".npy".
std::vector<Array> readNpz(const Bytes &bytes, const std::string &file);

/// The header that makes `array`'s bytes an npy file.
std::string getNpyHeader(const Array &array);
void writeNpz(AtomicWriter &out, const std::vector<Array> &arrays);

} // namespace amp::runtime

#endif // AMP_RUNTIME_NPY_H
