//===- CheckedJson.h - Checked reading of JSON
//------------------------------===//
//
// Errors that name the place, unknown keys, and the nearest known word.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_CHECKEDJSON_H
#define AMP_SUPPORT_CHECKEDJSON_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace amp {

llvm::Error makeError(const llvm::Twine &message);

/// "; did you mean 'Softmax'?", or nothing when no word is near.
std::string didYouMean(llvm::StringRef word,
                       llvm::ArrayRef<llvm::StringRef> known);

/// Fails on a key that is not among `known`. `where` opens the message.
llvm::Error checkKeys(const llvm::json::Object &object,
                      llvm::ArrayRef<llvm::StringRef> known,
                      llvm::StringRef where);

/// Parses text that must hold one object.
llvm::Expected<llvm::json::Object> parseObject(llvm::StringRef text,
                                               llvm::StringRef where);

/// The string under `key`, which must be there.
llvm::Expected<std::string> requireString(const llvm::json::Object &object,
                                          llvm::StringRef key,
                                          llvm::StringRef where);

/// The non-negative integers under `key`; empty when the key is absent.
llvm::Expected<std::vector<int64_t>>
readIntegers(const llvm::json::Object &object, llvm::StringRef key,
             llvm::StringRef where);

} // namespace amp

#endif // AMP_SUPPORT_CHECKEDJSON_H
