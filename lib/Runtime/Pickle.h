//===- Pickle.h - A restricted reader of pickles ----------------*- C++ -*-===//
// Builds plain values; what a pickle would call stays a name.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_RUNTIME_PICKLE_H
#define AMP_LIB_RUNTIME_PICKLE_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace amp::runtime {

/// A value by its number in PickleReader::values: values may share parts.
using PickleId = size_t;

struct PickleValue {
  enum Kind {
    None,
    Bool,
    Integer,
    Float,
    Text,
    Tuple,
    List,
    /// Keys and values in turns.
    Dict,
    /// "module name", nothing that was looked up.
    Global,
    /// `items` are the function and its arguments' tuple.
    Call,
    /// `items` is the persistent id.
    Persistent
  };
  Kind kind = None;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<PickleId> items;
};

/// Understands the opcodes that pickled dictionaries of tensors are made of and
/// refuses all others. Calls of functions that `isAllowed` does not name are
/// refused, too; allowed ones are recorded, not made.
class PickleReader {
public:
  PickleReader(std::string_view bytes, std::string where,
               bool (*isAllowed)(std::string_view function))
      : bytes(bytes), where(std::move(where)), isAllowed(isAllowed) {}

  PickleId read();
  const PickleValue &get(PickleId id) const { return values[id]; }

private:
  [[noreturn]] void reject(const std::string &what) const;
  std::string_view take(size_t count);
  template <typename T> T takeNumber();
  std::string_view takeLine();
  PickleId add(PickleValue value);
  void push(PickleValue value) { stack.push_back(add(std::move(value))); }
  PickleId pop();
  PickleValue &top();
  std::vector<PickleId> popToMark();
  void addItems(PickleValue::Kind kind, const std::vector<PickleId> &items);

  /// Each handles a group of opcodes; false: not one of its own.
  bool runConstant(unsigned char code);
  bool runText(unsigned char code);
  bool runContainer(unsigned char code);
  bool runMemo(unsigned char code);
  bool runCall(unsigned char code);
  void pushLong(std::string_view digits);
  void pushGlobal(const std::string &name);
  void makeTuple(size_t count);
  void call();
  void build();

  std::string_view bytes;
  std::string where;
  bool (*isAllowed)(std::string_view function);
  std::vector<PickleValue> values;
  std::vector<PickleId> stack;
  std::vector<size_t> marks;
  std::map<uint64_t, PickleId> memo;
};

} // namespace amp::runtime

#endif // AMP_LIB_RUNTIME_PICKLE_H
