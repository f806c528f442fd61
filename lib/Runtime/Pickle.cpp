//===- Pickle.cpp - A restricted reader of pickles ------------------------===//
// Opcodes are those of Python's pickletools, by their letters.
//===----------------------------------------------------------------------===//

#include "Pickle.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <cstring>

using namespace amp::runtime;

using Value = PickleValue;

/// Values a pickle may make; one of a model has some ten per tensor.
static constexpr size_t maxValues = 20000000;

static Value makeValue(Value::Kind kind, int64_t integer = 0) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  return value;
}

static Value makeText(std::string_view text) {
  Value value;
  value.kind = Value::Text;
  value.text = text;
  return value;
}

void PickleReader::reject(const std::string &what) const {
  fail(AMP_BAD_FILE, where + ": " + what);
}

std::string_view PickleReader::take(size_t count) {
  if (count > bytes.size())
    reject("the pickle is truncated");
  std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

template <typename T> T PickleReader::takeNumber() {
  T value;
  std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
  return value;
}

std::string_view PickleReader::takeLine() {
  size_t end = bytes.find('\n');
  if (end == std::string_view::npos)
    reject("the pickle is truncated");
  std::string_view line = take(end);
  take(1);
  return line;
}

PickleId PickleReader::add(Value value) {
  if (values.size() == maxValues)
    reject("the pickle has too many values");
  values.push_back(std::move(value));
  return values.size() - 1;
}

PickleId PickleReader::pop() {
  if (stack.empty() || (!marks.empty() && stack.size() == marks.back()))
    reject("the pickle is malformed (nothing to take)");
  PickleId id = stack.back();
  stack.pop_back();
  return id;
}

Value &PickleReader::top() {
  PickleId id = pop();
  stack.push_back(id);
  return values[id];
}

std::vector<PickleId> PickleReader::popToMark() {
  if (marks.empty())
    reject("the pickle is malformed (no mark)");
  auto begin = stack.begin() + static_cast<ptrdiff_t>(marks.back());
  std::vector<PickleId> items(begin, stack.end());
  stack.erase(begin, stack.end());
  marks.pop_back();
  return items;
}

void PickleReader::pushLong(std::string_view digits) {
  if (digits.size() > 8)
    reject("the pickle has an integer of more than 64 bits");
  uint64_t bits = 0;
  std::memcpy(&bits, digits.data(), digits.size());
  size_t shift = 64 - 8 * digits.size();
  // Sign-extends; no digits are zero.
  push(makeValue(
      Value::Integer,
      digits.empty() ? 0 : static_cast<int64_t>(bits << shift) >> shift));
}

bool PickleReader::runConstant(unsigned char code) {
  switch (code) {
  case 'N':
    push(makeValue(Value::None));
    return true;
  case 0x88: // NEWTRUE
  case 0x89: // NEWFALSE
    push(makeValue(Value::Bool, code == 0x88));
    return true;
  case 'J':
    push(makeValue(Value::Integer, takeNumber<int32_t>()));
    return true;
  case 'K':
    push(makeValue(Value::Integer, takeNumber<uint8_t>()));
    return true;
  case 'M':
    push(makeValue(Value::Integer, takeNumber<uint16_t>()));
    return true;
  case 0x8a: // LONG1
    pushLong(take(takeNumber<uint8_t>()));
    return true;
  case 'G': {
    // The only number that is big-endian.
    uint64_t bits = __builtin_bswap64(takeNumber<uint64_t>());
    Value value = makeValue(Value::Float);
    std::memcpy(&value.real, &bits, sizeof(bits));
    push(std::move(value));
    return true;
  }
  default:
    return false;
  }
}

bool PickleReader::runText(unsigned char code) {
  switch (code) {
  case 'X':
    push(makeText(take(takeNumber<uint32_t>())));
    return true;
  case 0x8c: // SHORT_BINUNICODE
  case 'U':
    push(makeText(take(takeNumber<uint8_t>())));
    return true;
  case 0x8d: // BINUNICODE8
    push(makeText(take(takeNumber<uint64_t>())));
    return true;
  default:
    return false;
  }
}

void PickleReader::makeTuple(size_t count) {
  Value value = makeValue(Value::Tuple);
  for (size_t i = 0; i < count; ++i)
    value.items.push_back(pop());
  std::reverse(value.items.begin(), value.items.end());
  push(std::move(value));
}

void PickleReader::addItems(Value::Kind kind,
                            const std::vector<PickleId> &items) {
  Value &target = top();
  if (target.kind != kind || (kind == Value::Dict && items.size() % 2))
    reject("the pickle is malformed (items for something else)");
  target.items.insert(target.items.end(), items.begin(), items.end());
}

bool PickleReader::runContainer(unsigned char code) {
  switch (code) {
  case '(':
    marks.push_back(stack.size());
    return true;
  case ')':
    push(makeValue(Value::Tuple));
    return true;
  case ']':
    push(makeValue(Value::List));
    return true;
  case '}':
    push(makeValue(Value::Dict));
    return true;
  case 0x85: // TUPLE1 to TUPLE3
  case 0x86:
  case 0x87:
    makeTuple(code - 0x84u);
    return true;
  case 't': {
    Value value = makeValue(Value::Tuple);
    value.items = popToMark();
    push(std::move(value));
    return true;
  }
  case 'a':
    addItems(Value::List, {pop()});
    return true;
  case 'e':
    addItems(Value::List, popToMark());
    return true;
  case 's': {
    PickleId value = pop(), key = pop();
    addItems(Value::Dict, {key, value});
    return true;
  }
  case 'u':
    addItems(Value::Dict, popToMark());
    return true;
  default:
    return false;
  }
}

bool PickleReader::runMemo(unsigned char code) {
  auto fetch = [&](uint64_t key) {
    auto found = memo.find(key);
    if (found == memo.end())
      reject("the pickle is malformed (nothing kept under " +
             std::to_string(key) + ")");
    stack.push_back(found->second);
  };
  auto keep = [&](uint64_t key) {
    PickleId id = pop();
    stack.push_back(id);
    memo[key] = id;
  };
  switch (code) {
  case 'q':
    keep(takeNumber<uint8_t>());
    return true;
  case 'r':
    keep(takeNumber<uint32_t>());
    return true;
  case 0x94: // MEMOIZE
    keep(memo.size());
    return true;
  case 'h':
    fetch(takeNumber<uint8_t>());
    return true;
  case 'j':
    fetch(takeNumber<uint32_t>());
    return true;
  default:
    return false;
  }
}

void PickleReader::pushGlobal(const std::string &name) {
  if (!isAllowed(name))
    reject("the pickle wants to use " + quote(name) +
           "; only tensors in dictionaries are read, nothing is executed");
  Value value = makeValue(Value::Global);
  value.text = name;
  push(std::move(value));
}

void PickleReader::call() {
  PickleId arguments = pop(), function = pop();
  if (values[function].kind != Value::Global ||
      values[arguments].kind != Value::Tuple)
    reject("the pickle is malformed (a call of no function)");
  if (values[function].text == "collections OrderedDict") {
    if (!values[arguments].items.empty())
      reject("the pickle is malformed (a dictionary with arguments)");
    push(makeValue(Value::Dict));
    return;
  }
  Value value = makeValue(Value::Call);
  value.items = {function, arguments};
  push(std::move(value));
}

/// Attributes of a dictionary (a state_dict's _metadata) say nothing of use.
void PickleReader::build() {
  pop();
  if (top().kind != Value::Dict)
    reject("the pickle is malformed (attributes of no dictionary)");
}

bool PickleReader::runCall(unsigned char code) {
  switch (code) {
  case 'c': {
    std::string module(takeLine());
    pushGlobal(module + " " + std::string(takeLine()));
    return true;
  }
  case 0x93: { // STACK_GLOBAL
    PickleId name = pop(), module = pop();
    if (values[name].kind != Value::Text || values[module].kind != Value::Text)
      reject("the pickle is malformed (a name that is no text)");
    pushGlobal(values[module].text + " " + values[name].text);
    return true;
  }
  case 'Q': {
    Value value = makeValue(Value::Persistent);
    value.items = {pop()};
    push(std::move(value));
    return true;
  }
  case 'R':
    call();
    return true;
  case 'b':
    build();
    return true;
  default:
    return false;
  }
}

PickleId PickleReader::read() {
  if (takeNumber<uint8_t>() != 0x80 || takeNumber<uint8_t>() > 5)
    reject("is no pickle of protocol 2 to 5");
  while (true) {
    auto code = takeNumber<uint8_t>();
    if (code == '.')
      break;
    if (code == 0x95) { // FRAME
      takeNumber<uint64_t>();
      continue;
    }
    if (!runConstant(code) && !runText(code) && !runContainer(code) &&
        !runMemo(code) && !runCall(code))
      reject("the pickle has an instruction that is not read (byte " +
             std::to_string(code) + ")");
  }
  marks.clear();
  return pop();
}
