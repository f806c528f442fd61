//===- Explain.h - Policies as text ---------------------------------------===//
//
// What `amp-opt --list-policies` and `amp-opt --explain=<op>` print.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_POLICY_EXPLAIN_H
#define AMP_DIALECT_AMP_POLICY_EXPLAIN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace amp {

class Policy;

/// Prints the name and description of each built-in policy.
void listPolicies(llvm::raw_ostream &os);

/// Prints what each built-in policy, and then each of `more`, says of the
/// operator, and its facts. An unknown operator is an error that names the
/// nearest known one.
llvm::Error explainOp(llvm::StringRef op, llvm::raw_ostream &os,
                      llvm::ArrayRef<const Policy *> more = {});

} // namespace amp

#endif // AMP_DIALECT_AMP_POLICY_EXPLAIN_H
