//===- Findings.cpp - What correct kernels do not do ----------------------===//
// How findings are noted and told.
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include <sstream>

using namespace amp::ptx;

static constexpr uint32_t maxPerLine = 4;
static constexpr size_t maxFindings = 200;

std::string_view amp::ptx::getName(FindingKind kind) {
  static constexpr std::string_view names[] = {
      "out-of-bounds", "misaligned", "uninitialised", "race",
      "async-copy",    "barrier",    "convergence",   "proxy",
      "hang",          "trap",       "unsupported"};
  return names[static_cast<size_t>(kind)];
}

static std::string join(const std::array<uint32_t, 3> &index) {
  return "(" + std::to_string(index[0]) + "," + std::to_string(index[1]) + "," +
         std::to_string(index[2]) + ")";
}

std::string amp::ptx::describe(const Finding &finding) {
  std::ostringstream text;
  text << finding.kernel << ", line " << finding.line << ", block "
       << join(finding.block) << ", thread " << join(finding.thread) << ": "
       << finding.message;
  if (finding.address)
    text << " (at 0x" << std::hex << finding.address << ")";
  if (!finding.instruction.empty())
    text << ": '" << finding.instruction << "'";
  return text.str();
}

void Context::report(const Inst &inst, FindingKind kind, unsigned lane,
                     uint64_t address, std::string message) {
  uint64_t place = uint64_t(kind) << 32 | inst.line;
  if (findings.size() >= maxFindings || ++findingsOfLine[place] > maxPerLine)
    return;
  uint32_t thread = warp->id * numLanes + lane;
  const auto &extent = launch->block;
  findings.push_back({kind,
                      program->name,
                      inst.line,
                      block->id,
                      {thread % extent[0], thread / extent[0] % extent[1],
                       thread / extent[0] / extent[1]},
                      address,
                      std::move(message),
                      program->source->getLine(inst.line)});
}

bool Context::isConverged(const Inst &inst, uint32_t members) {
  uint32_t missing = members & warp->live & ~mask;
  if (!missing)
    return true;
  if (!isForced && warp->groups.size() > 1) {
    event = Event::Park;
    return false;
  }
  isForced = false;
  report(inst, FindingKind::Convergence, __builtin_ctz(missing), missing,
         "not all lanes that must take part execute this: it is in divergent "
         "code");
  return true;
}
