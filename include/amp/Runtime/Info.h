//===- Info.h - An artifact described ---------------------------*- C++ -*-===//
// The text of amp_info and of `amp-run info`.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_INFO_H
#define AMP_RUNTIME_INFO_H

#include "amp/Runtime/Session.h"

namespace amp::runtime {

/// Tensors, entries and settings as JSON.
Json getInfo(const Session &session);

} // namespace amp::runtime

#endif // AMP_RUNTIME_INFO_H
