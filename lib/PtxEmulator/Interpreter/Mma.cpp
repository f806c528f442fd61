//===- Mma.cpp - mma.sync -------------------------------------------------===//
// Fragments of A and B are rows of 8 lines of 16 bytes: line = lane / 4. Sums
// are exact products added in float, in the order of k.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "HalfFloat.h"
#include "Rows.h"
#include <cstring>

using namespace amp::ptx;

namespace {
/// Operand types: how an element is stored and what it counts as.
struct ElementF16 {
  using Stored = F16;
  using Sum = float;
  static float get(F16 a) { return a.get(); }
};
struct ElementBF16 {
  using Stored = BF16;
  using Sum = float;
  static float get(BF16 a) { return a.get(); }
};
struct ElementTf32 { // the low 13 bits are not looked at
  using Stored = uint32_t;
  using Sum = float;
  static float get(uint32_t a) { return bitCast<float>(a & 0xffffe000); }
};
struct ElementS8 {
  using Stored = int8_t;
  using Sum = int32_t;
  static int32_t get(int8_t a) { return a; }
};
struct ElementU8 {
  using Stored = uint8_t;
  using Sum = int32_t;
  static int32_t get(uint8_t a) { return a; }
};

constexpr unsigned rowsM = 16, columnsN = 8, lineBytes = 16;
} // namespace

static float accumulate(float sum, float a, float b) {
  return __builtin_fmaf(a, b, sum);
}
static int32_t accumulate(int32_t sum, int32_t a, int32_t b) {
  return static_cast<int32_t>(uint32_t(sum) + uint32_t(a) * uint32_t(b));
}

/// C and D of 32 bits: register r of lane l is row l/4 + 8*(r/2), column
/// 2*(l%4) + r%2.
template <typename Sum>
static void loadSums(const Context &context, const uint32_t *rows,
                     Sum c[rowsM][columnsN]) {
  for (unsigned r = 0; r < 4; ++r) {
    const Sum *s = context.row<Sum>(rows[r]);
    for (unsigned lane = 0; lane < numLanes; ++lane)
      c[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2] = s[lane];
  }
}

template <typename Sum>
static void storeSums(const Context &context, const uint32_t *rows,
                      const Sum c[rowsM][columnsN]) {
  for (unsigned r = 0; r < 4; ++r) {
    Sum *d = context.row<Sum>(rows[r]);
    for (unsigned lane = 0; lane < numLanes; ++lane)
      d[lane] = c[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2];
  }
}

/// Of f16: a pair per register, register r is row l/4 + 8*r.
static void loadHalfSums(const Context &context, const uint32_t *rows,
                         float c[rowsM][columnsN]) {
  for (unsigned r = 0; r < 2; ++r) {
    const F16 *s = context.row<F16>(rows[r]);
    for (unsigned i = 0; i < 2 * numLanes; ++i)
      c[i / 8 + 8 * r][i % 8] = s[i].get();
  }
}

static void storeHalfSums(const Context &context, const uint32_t *rows,
                          const float c[rowsM][columnsN]) {
  for (unsigned r = 0; r < 2; ++r) {
    F16 *d = context.row<F16>(rows[r]);
    for (unsigned i = 0; i < 2 * numLanes; ++i)
      d[i] = F16::make(c[i / 8 + 8 * r][i % 8]);
  }
}

/// The list: D, A, B, C. `count` registers of A, half as many of B; imm is 1
/// where C and D are f16.
template <typename A, typename B>
static void multiply(Context &context, const Inst &inst) {
  using Sum = typename A::Sum;
  using StoredA = typename A::Stored;
  using StoredB = typename B::Stored;
  constexpr unsigned perLine = lineBytes / sizeof(StoredA);
  if (!context.isConverged(inst, allLanes))
    return;
  const uint32_t *list = context.lists().data() + inst.list;
  unsigned sums = inst.imm ? 2 : 4, lines = inst.flags / 2;
  const uint32_t *d = list, *a = d + sums, *b = a + inst.flags, *c = b + lines;
  alignas(32) Sum left[rowsM][2 * perLine], right[2 * perLine][columnsN],
      sum[rowsM][columnsN];
  for (unsigned r = 0; r < inst.flags; ++r) {
    const StoredA *from = context.row<StoredA>(a[r]);
    for (unsigned i = 0; i < 8 * perLine; ++i)
      left[i / perLine + 8 * (r % 2)][i % perLine + r / 2 * perLine] =
          A::get(from[i]);
  }
  for (unsigned r = 0; r < lines; ++r) {
    const StoredB *from = context.row<StoredB>(b[r]);
    for (unsigned i = 0; i < 8 * perLine; ++i)
      right[i % perLine + r * perLine][i / perLine] = B::get(from[i]);
  }
  if constexpr (std::is_same_v<Sum, float>) {
    if (inst.imm)
      loadHalfSums(context, c, sum);
    else
      loadSums(context, c, sum);
  } else {
    loadSums(context, c, sum);
  }
  for (unsigned m = 0; m < rowsM; ++m) {
    Sum total[columnsN];
    std::memcpy(total, sum[m], sizeof(total));
    for (unsigned k = 0; k < lines * perLine; ++k)
      for (unsigned n = 0; n < columnsN; ++n)
        total[n] = accumulate(total[n], left[m][k], right[k][n]);
    std::memcpy(sum[m], total, sizeof(total));
  }
  context.counters.mma++;
  if constexpr (std::is_same_v<Sum, float>) {
    if (inst.imm)
      return storeHalfSums(context, d, sum);
  }
  storeSums(context, d, sum);
}

/// f64 m8n8k4: A and B one register, C and D two; element l of A is (l/4, l%4).
static void multiplyDouble(Context &context, const Inst &inst) {
  if (!context.isConverged(inst, allLanes))
    return;
  const uint32_t *list = context.lists().data() + inst.list;
  const double *a = context.row<double>(list[2]);
  const double *b = context.row<double>(list[3]);
  double result[2][numLanes];
  for (unsigned r = 0; r < 2; ++r) {
    const double *c = context.row<double>(list[4 + r]);
    for (unsigned lane = 0; lane < numLanes; ++lane) {
      unsigned m = lane / 4, n = lane % 4 * 2 + r;
      double sum = c[lane];
      for (unsigned k = 0; k < 4; ++k)
        sum = __builtin_fma(a[4 * m + k], b[4 * n + k], sum);
      result[r][lane] = sum;
    }
  }
  for (unsigned r = 0; r < 2; ++r)
    std::memcpy(context.row<double>(list[r]), result[r], sizeof(result[r]));
  context.counters.mma++;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static Handler pickElements(std::string_view a, std::string_view b) {
  if (a == "f16" && b == "f16")
    return multiply<ElementF16, ElementF16>;
  if (a == "bf16" && b == "bf16")
    return multiply<ElementBF16, ElementBF16>;
  if (a == "tf32" && b == "tf32")
    return multiply<ElementTf32, ElementTf32>;
  if (a == "s8")
    return b == "s8"   ? multiply<ElementS8, ElementS8>
           : b == "u8" ? multiply<ElementS8, ElementU8>
                       : nullptr;
  if (a == "u8")
    return b == "s8"   ? multiply<ElementU8, ElementS8>
           : b == "u8" ? multiply<ElementU8, ElementU8>
                       : nullptr;
  return nullptr;
}

static void addRows(Decoder &decoder, std::vector<uint32_t> &rows,
                    const Operand &operand, size_t count, Type type,
                    bool isResult) {
  std::vector<Operand> values = operand.kind == OperandKind::Vector
                                    ? operand.items
                                    : std::vector<Operand>{operand};
  if (values.size() != count)
    decoder.failUnknown();
  for (const Operand &value : values)
    rows.push_back(isResult ? decoder.destination(value, type)
                            : decoder.sourceRow(value, type));
}

void amp::ptx::decodeMma(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  bool known = modifiers.takeAll({"sync", "aligned"});
  std::string_view shape = modifiers.takeFirst();
  known = modifiers.takeAll({"row", "col"}) && known;
  modifiers.take("satfinite");
  std::string_view d = modifiers.takeFirst(), a = modifiers.takeFirst(),
                   b = modifiers.takeFirst(), c = modifiers.takeFirst();
  decoder.expectOperands(4, 4);
  if (!known || d != c)
    decoder.failUnknown();
  std::vector<uint32_t> rows;
  if (shape == "m8n8k4" && d == "f64") {
    addRows(decoder, rows, decoder.operand(0), 2, Type::F64, true);
    addRows(decoder, rows, decoder.operand(1), 1, Type::F64, false);
    addRows(decoder, rows, decoder.operand(2), 1, Type::F64, false);
    addRows(decoder, rows, decoder.operand(3), 2, Type::F64, false);
    decoder.emit(multiplyDouble);
    for (uint32_t row : rows)
      decoder.addToList(row);
    return;
  }
  Handler handler = pickElements(a, b);
  unsigned bytes = getBytes(parseType(a));
  if (!handler || shape.substr(0, 6) != "m16n8k")
    decoder.failUnknown();
  unsigned k = 0;
  for (char digit : shape.substr(6))
    k = 10 * k + static_cast<unsigned>(digit - '0');
  bool isInteger = bytes == 1, isHalf = d == "f16";
  if ((k * bytes != lineBytes && k * bytes != 2 * lineBytes) ||
      (isInteger ? d != "s32" : d != "f32" && !(isHalf && a == "f16")))
    decoder.failUnknown();
  unsigned registers = k * bytes / lineBytes * 2;
  size_t sums = isHalf ? 2 : 4;
  addRows(decoder, rows, decoder.operand(0), sums, Type::B32, true);
  addRows(decoder, rows, decoder.operand(1), registers, Type::B32, false);
  addRows(decoder, rows, decoder.operand(2), registers / 2, Type::B32, false);
  addRows(decoder, rows, decoder.operand(3), sums, Type::B32, false);
  Inst &inst = decoder.emit(handler);
  inst.flags = static_cast<uint16_t>(registers);
  inst.imm = isHalf;
  for (uint32_t row : rows)
    decoder.addToList(row);
}
