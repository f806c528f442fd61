//===- TorchFile.h - What a torch .pt file holds ----------------*- C++ -*-===//
// Reads what torch.save wrote without executing anything, and writes the like.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_TORCHFILE_H
#define AMP_RUNTIME_TORCHFILE_H

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Zip.h"

namespace amp::runtime {

/// Plain data with tensors in it.
struct TorchValue {
  enum Kind { None, Bool, Integer, Float, Text, List, Dict, Tensor };
  Kind kind = None;
  /// Of a Bool and an Integer.
  int64_t integer = 0;
  double real = 0;
  std::string text;
  Array tensor = {};
  /// Of a Dict, one for each item; whole numbers as text.
  std::vector<std::string> keys;
  std::vector<TorchValue> items;

  /// The value under a key of a Dict; null where there is none.
  const TorchValue *find(std::string_view key) const;
  void set(std::string key, TorchValue value);
  bool isDictWith(std::initializer_list<const char *> all) const;
  /// A Bool, Integer, Float, or tensor of one element as a number.
  std::optional<double> getNumber() const;

  static TorchValue makeBool(bool value);
  static TorchValue makeInteger(int64_t value);
  static TorchValue makeFloat(double value);
  static TorchValue makeText(std::string text);
  static TorchValue makeList(std::vector<TorchValue> items);
  static TorchValue makeDict();
  static TorchValue makeTensor(Array array);
};

/// What torch.save wrote: a dictionary of numbers, texts, lists, dictionaries
/// and tensors; nothing when the bytes are another kind of file. Whatever else
/// the pickle asks for is refused by name.
std::optional<TorchValue> readTorchFile(const Bytes &bytes,
                                        const std::string &file);

/// The tensors in dictionaries, keys joined by dots; the rest is left out.
std::vector<Array> listTensors(const TorchValue &root, const std::string &file);

/// Writes a file that torch.load(weights_only=True) reads.
void writeTorchFile(AtomicWriter &out, const TorchValue &root);

} // namespace amp::runtime

#endif // AMP_RUNTIME_TORCHFILE_H
