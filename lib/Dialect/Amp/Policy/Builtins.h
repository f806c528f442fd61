//===- Builtins.h - Data files embedded at build time ---------------------===//
//
// The texts of data/policies/*.json and data/op-facts.json.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_POLICY_BUILTINS_H
#define AMP_LIB_DIALECT_AMP_POLICY_BUILTINS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace amp {

struct EmbeddedFile {
  const char *name;
  const char *text;
};

/// Policy files by name, in the order they are listed to the user.
llvm::ArrayRef<EmbeddedFile> builtinPolicies();
std::optional<llvm::StringRef> builtinPolicyText(llvm::StringRef name);

llvm::StringRef builtinOpFactsText();

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_POLICY_BUILTINS_H
