//===- PolicyParser.h - Reads policy files --------------------------------===//
//
// Follows `extends`, checks every row, and says where and what is wrong.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_POLICY_POLICYPARSER_H
#define AMP_LIB_DIALECT_AMP_POLICY_POLICYPARSER_H

#include "amp/Dialect/Amp/Policy/Policy.h"

#include "llvm/Support/JSON.h"

namespace amp {

/// One load: the files on the way to the root of an `extends` chain are kept to
/// find cycles.
class PolicyParser {
public:
  llvm::Expected<Policy> load(llvm::StringRef nameOrPath);

  /// Operators of the ai.onnx domain, sorted: those of the built-in tables.
  static std::vector<std::string> knownOperators();

private:
  /// Where a table comes from.
  struct Source {
    /// Opens every message: "policy file 'x.json'".
    std::string where;
    /// Relative `extends` paths start here.
    std::string directory;
    /// Rows of built-in tables define which operators are known, so they are
    /// not checked against themselves.
    bool isBuiltin = false;
  };

  llvm::Expected<Policy> resolve(llvm::StringRef nameOrPath,
                                 const Source *extendedBy);
  llvm::Expected<Policy> loadBuiltin(llvm::StringRef name, llvm::StringRef text,
                                     bool mayBeAbstract);
  llvm::Expected<Policy> loadFile(llvm::StringRef path, bool mayBeAbstract);
  llvm::Expected<Policy> parse(llvm::StringRef text, const Source &source,
                               bool mayBeAbstract);
  llvm::Error parseHeader(const llvm::json::Object &object,
                          const Source &source, Policy &policy);
  llvm::Error parseRows(const llvm::json::Object &object, const Source &source,
                        Policy &policy);
  llvm::Error parseRow(const llvm::json::Object &row, llvm::StringRef where,
                       Policy::Entry &entry);
  llvm::Error parseCases(const llvm::json::Object &row, llvm::StringRef where,
                         Policy::Entry &entry);
  llvm::Expected<RowCase> parseCase(const llvm::json::Object &object,
                                    llvm::StringRef where);
  llvm::Expected<OpClass> parseClass(const llvm::json::Object &object,
                                     llvm::StringRef key,
                                     llvm::StringRef where);
  llvm::Error checkOp(llvm::StringRef op, llvm::StringRef where);
  llvm::Error enter(llvm::StringRef id, llvm::StringRef where);

  std::vector<std::string> chain;
  /// Operators of the built-in tables, sorted; loaded when the first user file
  /// needs them.
  std::vector<std::string> knownOps;
};

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_POLICY_POLICYPARSER_H
