//===- Wgmma.cpp - wgmma and setmaxnreg -----------------------------------===//
// Each warp of a warpgroup computes its 16 rows. A product reads its operands
// and writes its sums when its group is waited for; until then the registers of
// the sums hold NaN.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Decoder.h"
#include "HalfFloat.h"
#include "Tile.h"
#include <cstring>

using namespace amp::ptx;

namespace {
enum class Element : uint8_t { F16, BF16, TF32 };
enum : uint16_t {
  ElementMask = 3,
  AInRegisters = 4,
  NegatesA = 8,
  NegatesB = 16,
  TransposesA = 32,
  TransposesB = 64
};
constexpr unsigned warpRows = 16, maxColumns = 256, chunkBytes = 16,
                   maxDepth = 16, registersA = 4;

/// A matrix in shared memory, as its descriptor tells.
struct Descriptor {
  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4), layout(bits >> 62) {}
  /// As swizzleAddress takes it.
  uint32_t getSwizzle() const { return layout == 0 ? 0 : 4 - layout; }

  uint32_t start, leading, stride, layout;
};
} // namespace

/// Where 16 bytes lie: with k inside, row `line` (m or n) and chunk `chunk` of
/// k; transposed, row `line` (k) and chunk `chunk` of m or n.
static uint32_t getChunk(const Descriptor &matrix, bool transposed,
                         uint32_t line, uint32_t chunk) {
  uint32_t swizzle = matrix.getSwizzle(), offset = matrix.start;
  if (swizzle == 0) {
    uint32_t alongLines = transposed ? matrix.leading : matrix.stride;
    uint32_t alongChunks = transposed ? matrix.stride : matrix.leading;
    return offset + line % 8 * chunkBytes + line / 8 * alongLines +
           chunk * alongChunks;
  }
  uint32_t width = 16u << swizzle, perAtom = width / chunkBytes;
  offset += line % 8 * width + line / 8 * matrix.stride;
  offset += transposed ? chunk % perAtom * chunkBytes +
                             chunk / perAtom * matrix.leading
                       : chunk * chunkBytes;
  return swizzleAddress(offset, swizzle);
}

static void toFloats(Element element, const uint8_t bytes[chunkBytes],
                     float *values) {
  uint16_t halves[8];
  uint32_t words[4];
  std::memcpy(halves, bytes, chunkBytes);
  std::memcpy(words, bytes, chunkBytes);
  if (element == Element::TF32)
    for (unsigned i = 0; i < 4; ++i)
      values[i] = bitCast<float>(words[i] & 0xffffe000);
  else
    for (unsigned i = 0; i < 8; ++i)
      values[i] = element == Element::F16 ? F16{halves[i]}.get()
                                          : BF16{halves[i]}.get();
}

namespace {
/// One warp's share of one instruction.
class Product {
public:
  Product(Context &context, const PendingWgmma &pending)
      : context(context), pending(pending), inst(*pending.inst),
        element(static_cast<Element>(inst.flags & ElementMask)),
        perChunk(element == Element::TF32 ? 4 : 8), columns(inst.count * 2) {}

  /// Notes what is read, at the issue and when it is waited for.
  void noteReads(bool isIssue);
  void run(std::unordered_map<uint32_t, std::array<uint32_t, 32>> &sums);

private:
  template <typename F>
  void visit(uint64_t descriptor, bool transposed, uint32_t first,
             uint32_t count, F chunkAt);
  void loadA();
  void loadB();

  Context &context;
  const PendingWgmma &pending;
  const Inst &inst;
  Element element;
  uint32_t perChunk, columns;
  float a[warpRows][maxDepth], b[maxDepth][maxColumns];
};
} // namespace

/// Calls chunkAt(offset, line, first element) for each chunk of lines
/// [first, first + count) of a matrix whose other extent is k.
template <typename F>
void Product::visit(uint64_t bits, bool transposed, uint32_t first,
                    uint32_t count, F chunkAt) {
  Descriptor matrix(bits);
  uint32_t depth = 2 * perChunk;
  if (!transposed) {
    for (uint32_t line = first; line < first + count; ++line)
      for (uint32_t chunk = 0; chunk < 2; ++chunk)
        chunkAt(getChunk(matrix, false, line, chunk), line, chunk * perChunk);
    return;
  }
  for (uint32_t k = 0; k < depth; ++k)
    for (uint32_t line = first; line < first + count; line += perChunk)
      chunkAt(getChunk(matrix, true, k, line / perChunk), line, k);
}

void Product::noteReads(bool isIssue) {
  SharedMemory &shared = context.block->shared;
  auto note = [&](uint32_t offset, uint32_t, uint32_t) {
    if (!checkSharedBounds(context, inst, 0, offset, chunkBytes, chunkBytes))
      return;
    if (!context.checks)
      return;
    if (isIssue)
      noteSharedRead(context, inst, 0, offset, chunkBytes);
    reportConflict(context, inst, 0,
                   isIssue
                       ? shared.readAsync(context.warp->id, offset, chunkBytes)
                       : shared.read(context.warp->id, offset, chunkBytes));
  };
  if (!(inst.flags & AInRegisters))
    visit(pending.aDescriptor, inst.flags & TransposesA,
          context.warp->id % 4 * warpRows, warpRows, note);
  visit(pending.bDescriptor, inst.flags & TransposesB, 0, columns, note);
}

void Product::loadA() {
  bool negates = inst.flags & NegatesA;
  if (inst.flags & AInRegisters) {
    for (unsigned r = 0; r < registersA; ++r)
      for (unsigned line = 0; line < 8; ++line) {
        float values[8];
        toFloats(element,
                 reinterpret_cast<const uint8_t *>(pending.a.data() +
                                                   r * numLanes + line * 4),
                 values);
        for (unsigned i = 0; i < perChunk; ++i)
          a[line + 8 * (r % 2)][i + r / 2 * perChunk] =
              negates ? -values[i] : values[i];
      }
    return;
  }
  bool transposed = inst.flags & TransposesA;
  uint32_t first = context.warp->id % 4 * warpRows;
  const uint8_t *shared = context.block->shared.data();
  uint32_t size = context.block->shared.size();
  visit(pending.aDescriptor, transposed, first, warpRows,
        [&](uint32_t offset, uint32_t line, uint32_t k) {
          float values[8] = {};
          if (offset + chunkBytes <= size)
            toFloats(element, shared + offset, values);
          for (unsigned i = 0; i < perChunk; ++i) {
            float value = negates ? -values[i] : values[i];
            if (transposed)
              a[line - first + i][k] = value;
            else
              a[line - first][k + i] = value;
          }
        });
}

void Product::loadB() {
  bool transposed = inst.flags & TransposesB, negates = inst.flags & NegatesB;
  const uint8_t *shared = context.block->shared.data();
  uint32_t size = context.block->shared.size();
  visit(pending.bDescriptor, transposed, 0, columns,
        [&](uint32_t offset, uint32_t line, uint32_t k) {
          float values[8] = {};
          if (offset + chunkBytes <= size)
            toFloats(element, shared + offset, values);
          for (unsigned i = 0; i < perChunk; ++i) {
            float value = negates ? -values[i] : values[i];
            if (transposed)
              b[k][line + i] = value;
            else
              b[k + i][line] = value;
          }
        });
}

/// Register i of lane l is row l/4 + 8*(i/2%2), column 8*(i/4) + 2*(l%4) + i%2.
void Product::run(
    std::unordered_map<uint32_t, std::array<uint32_t, 32>> &sums) {
  loadA();
  loadB();
  alignas(32) float total[warpRows][maxColumns];
  const uint32_t *rows = context.lists().data() + inst.list;
  auto place = [&](unsigned i, unsigned lane) -> float & {
    return total[lane / 4 + 8 * (i / 2 % 2)][i / 4 * 8 + lane % 4 * 2 + i % 2];
  };
  for (unsigned i = 0; i < inst.count; ++i)
    for (unsigned lane = 0; lane < numLanes; ++lane)
      place(i, lane) =
          pending.scaleD ? bitCast<float>(sums.at(rows[i])[lane]) : 0;
  for (unsigned m = 0; m < warpRows; ++m)
    for (unsigned k = 0; k < 2 * perChunk; ++k)
      for (unsigned n = 0; n < columns; ++n)
        total[m][n] = __builtin_fmaf(a[m][k], b[k][n], total[m][n]);
  for (unsigned i = 0; i < inst.count; ++i)
    for (unsigned lane = 0; lane < numLanes; ++lane)
      sums.at(rows[i])[lane] = bitCast<uint32_t>(place(i, lane));
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

static void fence(Context &context, const Inst &inst) {
  if (context.isConverged(inst, allLanes))
    context.warp->wgmmaFenced = true;
}

/// The list: sums, then A if it is in registers. s: A's and B's descriptors,
/// the predicate that says whether sums count.
static void start(Context &context, const Inst &inst) {
  if (!context.isConverged(inst, allLanes))
    return;
  Warp &warp = *context.warp;
  unsigned lane = context.getFirstLane();
  if (!warp.wgmmaFenced)
    context.report(inst, FindingKind::AsyncCopy, lane, 0,
                   "wgmma.fence must come between what wrote the registers and "
                   "this");
  PendingWgmma pending{&inst, 0, 0, false, {}};
  pending.bDescriptor = context.row<uint64_t>(inst.s[1])[lane];
  pending.scaleD = context.predicates[inst.s[2]] >> lane & 1;
  const uint32_t *rows = context.lists().data() + inst.list;
  if (inst.flags & AInRegisters)
    for (unsigned i = 0; i < registersA; ++i) {
      const uint32_t *row = context.row<uint32_t>(rows[inst.count + i]);
      pending.a.insert(pending.a.end(), row, row + numLanes);
    }
  else
    pending.aDescriptor = context.row<uint64_t>(inst.s[0])[lane];
  for (unsigned i = 0; i < inst.count; ++i) {
    uint32_t *row = context.row<uint32_t>(rows[i]);
    auto [saved, isNew] = warp.accumulators.insert({rows[i], {}});
    if (isNew)
      std::memcpy(saved->second.data(), row, sizeof(saved->second));
    std::fill(row, row + numLanes, 0x7fffffff);
  }
  Product(context, pending).noteReads(true);
  warp.wgmmas.push_back(std::move(pending));
  context.counters.wgmma++;
}

static void commit(Context &context, const Inst &inst) {
  if (context.isConverged(inst, allLanes))
    context.warp->wgmmaGroups.push_back(context.warp->wgmmas.size());
}

/// Sums that nothing pending adds to go back into their registers.
static void deliver(Context &context) {
  Warp &warp = *context.warp;
  std::unordered_map<uint32_t, std::array<uint32_t, 32>> kept;
  for (const PendingWgmma &pending : warp.wgmmas)
    for (unsigned i = 0; i < pending.inst->count; ++i) {
      uint32_t row = context.lists()[pending.inst->list + i];
      if (auto node = warp.accumulators.extract(row))
        kept.insert(std::move(node));
    }
  for (auto &[row, sums] : warp.accumulators) {
    std::memcpy(context.row<uint32_t>(row), sums.data(), sizeof(sums));
    warp.wgmmaFenced = false;
  }
  warp.accumulators = std::move(kept);
}

static void wait(Context &context, const Inst &inst) {
  if (!context.isConverged(inst, allLanes))
    return;
  Warp &warp = *context.warp;
  size_t groups = warp.wgmmaGroups.size();
  size_t keep = static_cast<size_t>(inst.imm);
  size_t done = groups > keep ? groups - keep : 0;
  size_t end = done ? warp.wgmmaGroups[done - 1] : 0;
  for (size_t i = 0; i < end; ++i) {
    Product product(context, warp.wgmmas[i]);
    product.noteReads(false);
    product.run(warp.accumulators);
  }
  warp.wgmmas.erase(warp.wgmmas.begin(),
                    warp.wgmmas.begin() + static_cast<std::ptrdiff_t>(end));
  warp.wgmmaGroups.erase(warp.wgmmaGroups.begin(),
                         warp.wgmmaGroups.begin() +
                             static_cast<std::ptrdiff_t>(done));
  for (size_t &group : warp.wgmmaGroups)
    group -= end;
  deliver(context);
}

static void setMaxRegisters(Context &context, const Inst &inst) {
  context.isConverged(inst, allLanes);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

void amp::ptx::decodeSetMaxRegisters(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  bool known = modifiers.take("inc") || modifiers.take("dec");
  known = modifiers.takeAll({"sync", "aligned", "u32"}) && known;
  decoder.expectOperands(1, 1);
  int64_t count = decoder.constantOperand(decoder.operand(0));
  if (!known)
    decoder.failUnknown();
  if (count < 24 || count > 256 || count % 8)
    decoder.fail("setmaxnreg takes 24 to 256 registers in steps of 8");
  decoder.emit(setMaxRegisters);
}

/// Columns of m64nNkK; 0 if the shape is none for elements of these bytes.
static uint32_t parseColumns(std::string_view shape, uint32_t bytes) {
  std::string tail = "k" + std::to_string(32 / bytes);
  if (shape.substr(0, 4) != "m64n" || shape.size() <= 4 + tail.size() ||
      shape.substr(shape.size() - tail.size()) != tail)
    return 0;
  uint32_t columns = 0;
  for (char c : shape.substr(4, shape.size() - 4 - tail.size()))
    columns = c >= '0' && c <= '9' && columns < 1000
                  ? columns * 10 + static_cast<uint32_t>(c - '0')
                  : 1000;
  return columns % 8 == 0 && columns <= maxColumns ? columns : 0;
}

static Element parseElement(Decoder &decoder, std::string_view name) {
  if (name == "f16")
    return Element::F16;
  if (name == "bf16")
    return Element::BF16;
  if (name != "tf32")
    decoder.failUnknown();
  return Element::TF32;
}

static void decodeProduct(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  std::string_view shape = modifiers.takeFirst(), d = modifiers.takeFirst(),
                   a = modifiers.takeFirst(), b = modifiers.takeFirst();
  Element element = parseElement(decoder, a);
  uint32_t columns = parseColumns(shape, element == Element::TF32 ? 4 : 2);
  if (!columns || d != "f32" || a != b)
    decoder.failUnknown();
  bool inRegisters = decoder.operand(1).kind == OperandKind::Vector;
  // scale-d, scale-a, scale-b, and of 16-bit elements the transpositions.
  size_t transposes = element == Element::TF32 ? 0 : inRegisters ? 1 : 2;
  decoder.expectOperands(6 + transposes, 6 + transposes);
  uint16_t flags = static_cast<uint16_t>(element);
  flags |= inRegisters ? AInRegisters : 0;
  flags |= decoder.constantOperand(decoder.operand(4)) < 0 ? NegatesA : 0;
  flags |= decoder.constantOperand(decoder.operand(5)) < 0 ? NegatesB : 0;
  if (transposes == 2 && decoder.constantOperand(decoder.operand(6)))
    flags |= TransposesA;
  if (transposes && decoder.constantOperand(decoder.operand(5 + transposes)))
    flags |= TransposesB;
  std::vector<uint32_t> rows;
  if (decoder.operand(0).items.size() != columns / 2 ||
      (inRegisters && decoder.operand(1).items.size() != registersA))
    decoder.failUnknown();
  for (const Operand &sum : decoder.operand(0).items)
    rows.push_back(decoder.destination(sum, Type::F32));
  uint32_t aRow = 0;
  if (inRegisters)
    for (const Operand &part : decoder.operand(1).items)
      rows.push_back(decoder.sourceRow(part, Type::B32));
  else
    aRow = decoder.sourceRow(1, Type::B64);
  uint32_t bRow = decoder.sourceRow(2, Type::B64);
  uint32_t scale = decoder.predicateSource(decoder.operand(3));
  Inst &inst = decoder.emit(start);
  inst.s[0] = aRow;
  inst.s[1] = bRow;
  inst.s[2] = scale;
  inst.flags = flags;
  for (uint32_t row : rows)
    decoder.addToList(row);
  decoder.getProgram().code.back().count = static_cast<uint16_t>(columns / 2);
}

void amp::ptx::decodeWgmma(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  std::string_view operation = modifiers.takeFirst();
  if (!modifiers.takeAll({"sync", "aligned"}))
    decoder.failUnknown();
  if (operation == "mma_async")
    return decodeProduct(decoder);
  bool waits = operation == "wait_group";
  decoder.expectOperands(waits ? 1 : 0, waits ? 1 : 0);
  if (operation == "fence")
    decoder.emit(fence);
  else if (operation == "commit_group")
    decoder.emit(commit);
  else if (waits)
    decoder.emit(wait).imm = decoder.constantOperand(decoder.operand(0));
  else
    decoder.failUnknown();
}
