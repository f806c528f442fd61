//===- Npy.cpp - NumPy's array files --------------------------------------===//
// The header is a Python dictionary of three keys; just that is parsed.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Npy.h"
#include "amp/Runtime/Failure.h"
#include <cstring>

using namespace amp::runtime;

static constexpr std::string_view magic("\x93NUMPY", 6);
static constexpr std::string_view suffix = ".npy";
static constexpr size_t maxRank = 64;

namespace {
struct TypeRow {
  DType type;
  const char *code;
};

/// Reads the header's dictionary: {'descr': '<f4', 'fortran_order': False,
/// 'shape': (3, 4), }
class HeaderParser {
public:
  HeaderParser(std::string_view text, std::string where)
      : text(text), where(std::move(where)) {}

  void parse();
  std::string descr;
  bool fortranOrder = false;
  Shape shape;

private:
  [[noreturn]] void reject(const std::string &what) const {
    fail(AMP_BAD_FILE, where + ": " + what);
  }
  void skipSpace();
  bool eat(char c);
  void expect(char c);
  std::string parseString();
  bool parseBool();
  void parseShape();

  std::string_view text;
  std::string where;
  unsigned seen = 0;
};
} // namespace

static constexpr TypeRow typeRows[] = {
    {DType::F32, "f4"}, {DType::F16, "f2"}, {DType::BF16, "V2"},
    {DType::F64, "f8"}, {DType::I64, "i8"}, {DType::I32, "i4"},
    {DType::I8, "i1"},  {DType::U8, "u1"},  {DType::I1, "b1"},
    {DType::I16, "i2"}, {DType::U16, "u2"}, {DType::U32, "u4"},
    {DType::U64, "u8"}};

void HeaderParser::skipSpace() {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\n'))
    text.remove_prefix(1);
}

bool HeaderParser::eat(char c) {
  skipSpace();
  if (text.empty() || text[0] != c)
    return false;
  text.remove_prefix(1);
  return true;
}

void HeaderParser::expect(char c) {
  if (!eat(c))
    reject(std::string("the npy header lacks a '") + c + "'");
}

std::string HeaderParser::parseString() {
  char quoteChar = eat('"') ? '"' : '\'';
  if (quoteChar == '\'')
    expect('\'');
  size_t end = text.find(quoteChar);
  if (end == std::string_view::npos)
    reject("a string of the npy header does not end");
  std::string value(text.substr(0, end));
  text.remove_prefix(end + 1);
  return value;
}

bool HeaderParser::parseBool() {
  skipSpace();
  for (bool value : {true, false}) {
    std::string_view word = value ? "True" : "False";
    if (text.substr(0, word.size()) == word) {
      text.remove_prefix(word.size());
      return value;
    }
  }
  reject("'fortran_order' of the npy header is neither True nor False");
}

void HeaderParser::parseShape() {
  expect('(');
  while (!eat(')')) {
    int64_t size = 0;
    size_t digits = 0;
    for (skipSpace(); digits < text.size() &&
                      std::isdigit(static_cast<unsigned char>(text[digits]));
         ++digits)
      if (__builtin_mul_overflow(size, int64_t(10), &size) ||
          __builtin_add_overflow(size, int64_t(text[digits] - '0'), &size))
        reject("a size in the npy header is too large");
    if (digits == 0 || shape.size() == maxRank)
      reject("the shape in the npy header is malformed");
    text.remove_prefix(digits);
    shape.push_back(size);
    if (!eat(',')) {
      expect(')');
      return;
    }
  }
}

void HeaderParser::parse() {
  expect('{');
  while (!eat('}')) {
    std::string key = parseString();
    expect(':');
    unsigned bit;
    if (key == "descr") {
      bit = 1;
      skipSpace();
      if (!text.empty() && text[0] == '[')
        reject("has records; arrays of numbers are read");
      descr = parseString();
    } else if (key == "fortran_order") {
      bit = 2;
      fortranOrder = parseBool();
    } else if (key == "shape") {
      bit = 4;
      parseShape();
    } else {
      reject("the npy header has an unknown key " + quote(key));
    }
    if (seen & bit)
      reject("the npy header has " + quote(key) + " twice");
    seen |= bit;
    if (!eat(',')) {
      expect('}');
      break;
    }
  }
  if (seen != 7)
    reject("the npy header lacks 'descr', 'fortran_order' or 'shape'");
}

static DType parseDescr(const std::string &descr, const std::string &where) {
  if (!descr.empty() && descr[0] == '>')
    fail(AMP_UNSUPPORTED, where + ": is big-endian (" + quote(descr) +
                              "); convert it to little-endian");
  std::string_view code(descr);
  if (!code.empty() && (code[0] == '<' || code[0] == '|' || code[0] == '='))
    code.remove_prefix(1);
  for (const TypeRow &row : typeRows)
    if (code == row.code)
      return row.type;
  fail(AMP_UNSUPPORTED,
       where + ": element type " + quote(descr) + " is not supported" +
           (code == "O" ? " (pickled objects are never read)" : ""));
}

/// Copies an array stored with its first index fastest into row-major order.
static Array reorder(const Array &source) {
  char *target;
  Array result = makeArray(source.name, source.dtype, source.shape, &target);
  size_t size = getSize(source.dtype), rank = source.shape.size();
  size_t count = source.bytes / size;
  std::vector<size_t> index(rank, 0), strides(rank, 1);
  for (size_t i = 1; i < rank; ++i)
    strides[i] = strides[i - 1] * static_cast<size_t>(source.shape[i - 1]);
  for (size_t i = 0; i < count; ++i) {
    size_t from = 0;
    for (size_t axis = 0; axis < rank; ++axis)
      from += index[axis] * strides[axis];
    std::memcpy(target + i * size, source.data + from * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < static_cast<size_t>(source.shape[axis]))
        break;
      index[axis] = 0;
    }
  }
  return result;
}

Array amp::runtime::readNpy(const Bytes &bytes, const std::string &name,
                            const std::string &file) {
  std::string where = file + ": " + quote(name);
  std::string_view view = bytes.view;
  if (view.size() < 12 || view.substr(0, magic.size()) != magic)
    fail(AMP_BAD_FILE, where + ": is no npy array");
  unsigned char version = static_cast<unsigned char>(view[6]);
  if (version < 1 || version > 3)
    fail(AMP_UNSUPPORTED,
         where + ": npy version " + std::to_string(version) + " is unknown");
  uint32_t length = 0;
  size_t start = version == 1 ? 10 : 12;
  std::memcpy(&length, view.data() + 8, version == 1 ? 2 : 4);
  if (length > view.size() - start)
    fail(AMP_BAD_FILE, where + ": the npy header is truncated");
  HeaderParser header(view.substr(start, length), where);
  header.parse();
  Array array{name,
              parseDescr(header.descr, where),
              header.shape,
              view.data() + start + length,
              0,
              bytes.owner};
  std::optional<size_t> size = getByteSize(array.dtype, array.shape);
  size_t have = view.size() - start - length;
  if (!size || *size != have)
    fail(AMP_BAD_FILE, where + ": " + array.describe() + " does not take " +
                           std::to_string(have) + " bytes (truncated?)");
  array.bytes = *size;
  return header.fortranOrder && array.shape.size() > 1 ? reorder(array) : array;
}

std::vector<Array> amp::runtime::readNpz(const Bytes &bytes,
                                         const std::string &file) {
  ZipReader zip(bytes, file);
  std::vector<Array> arrays;
  for (const ZipMember &member : zip.getMembers()) {
    if (!endsWith(member.name, suffix))
      fail(AMP_BAD_FILE,
           file + ": member " + quote(member.name) + " is no npy array");
    std::string name =
        member.name.substr(0, member.name.size() - suffix.size());
    arrays.push_back(readNpy(zip.read(member), name, file));
  }
  return arrays;
}

std::string amp::runtime::getNpyHeader(const Array &array) {
  std::string code;
  for (const TypeRow &row : typeRows)
    if (row.type == array.dtype)
      code = row.code;
  std::string text =
      std::string("{'descr': '") +
      (getSize(array.dtype) == 1 || array.dtype == DType::BF16 ? '|' : '<') +
      code + "', 'fortran_order': False, 'shape': (";
  for (int64_t size : array.shape)
    text += std::to_string(size) + ",";
  text += "), }";
  // The data begins at a multiple of 64.
  bool large = text.size() + 11 > 0xffff;
  size_t start = large ? 12 : 10;
  text.append(63 - (start + text.size()) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += large ? '\2' : '\1';
  header += '\0';
  auto length = static_cast<uint32_t>(text.size());
  header.append(reinterpret_cast<const char *>(&length), large ? 4 : 2);
  return header + text;
}

void amp::runtime::writeNpz(AtomicWriter &out,
                            const std::vector<Array> &arrays) {
  uint64_t total = 0;
  for (const Array &array : arrays)
    total += array.bytes;
  out.reserve(total);
  ZipWriter zip(out);
  for (const Array &array : arrays)
    zip.add(array.name + std::string(suffix), getNpyHeader(array),
            std::string_view(array.data, array.bytes));
  zip.finish();
}
