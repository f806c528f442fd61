//===- Json.h - JSON of the user ------------------------------------------===//
//
// llvm::json::parse for files that anybody may have written.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_JSON_H
#define AMP_SUPPORT_JSON_H

#include "llvm/Support/JSON.h"

namespace amp {

/// Parses JSON; text nested deeper than 100 levels is refused, as the parser
/// would run out of stack.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace amp

#endif // AMP_SUPPORT_JSON_H
