//===- ObjectReader.h - Reads the keys of one JSON object -----------------===//
//
// Every error names the path of the field; the first one is kept.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_CONFIG_OBJECTREADER_H
#define AMP_LIB_DIALECT_TRAIN_CONFIG_OBJECTREADER_H

#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace amp::train {

/// The numbers a field takes.
struct Range {
  double least, most;
  bool withLeast = true, withMost = true;

  bool contains(double value) const;
  /// "above 0 and at most 1".
  std::string describe() const;

  static Range positive();
  static Range notNegative();
  static Range any();
  /// From 0, below 1.
  static Range fraction();
};

/// Where the first error of a file is kept.
class FirstError {
public:
  explicit FirstError(llvm::StringRef where) : where(where) {}
  void add(llvm::StringRef path, const llvm::Twine &message);
  bool any() const { return !message.empty(); }
  llvm::Error take() const;

private:
  std::string where, message;
};

/// Reads the fields of an object. A field that is absent leaves its target as
/// it is; one of the wrong type, out of range or not asked for is an error.
class ObjectReader {
public:
  /// `value` must be an object with none but the keys `known`.
  ObjectReader(FirstError &error, const llvm::json::Value &value,
               llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> known);

  bool has(llvm::StringRef key) const;
  const llvm::json::Value *get(llvm::StringRef key) const;
  std::string pathOf(llvm::StringRef key) const;
  void fail(llvm::StringRef key, const llvm::Twine &message);
  /// An error unless the key is there.
  void require(llvm::StringRef key);

  void read(llvm::StringRef key, double &target, Range range);
  void read(llvm::StringRef key, std::optional<double> &target, Range range);
  void read(llvm::StringRef key, int64_t &target, int64_t least, int64_t most);
  void read(llvm::StringRef key, bool &target);
  void read(llvm::StringRef key, std::string &target);
  /// One of `words`; its index, `otherwise` if absent.
  unsigned readWord(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> words,
                    unsigned otherwise);
  void read(llvm::StringRef key, std::vector<std::string> &target);
  /// Regular expressions; each must compile.
  void readRegexes(llvm::StringRef key, std::vector<std::string> &target);
  void checkRegex(llvm::StringRef path, llvm::StringRef regex);

private:
  FirstError &error;
  const llvm::json::Object *object;
  std::string path;
};

/// How `value` is shown in a message, shortened.
std::string showJson(const llvm::json::Value &value);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_CONFIG_OBJECTREADER_H
