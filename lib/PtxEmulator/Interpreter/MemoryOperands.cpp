//===- MemoryOperands.cpp - Modifiers of memory instructions --------------===//
// Tables of the names.
//===----------------------------------------------------------------------===//

#include "MemoryOperands.h"
#include <algorithm>

using namespace amp::ptx;

Space amp::ptx::takeSpace(Modifiers &modifiers) {
  static constexpr std::pair<std::string_view, Space> names[] = {
      {"global", Space::Global},      {"shared", Space::Shared},
      {"shared::cta", Space::Shared}, {"shared::cluster", Space::Shared},
      {"local", Space::Local},        {"const", Space::Const},
      {"param", Space::Param},        {"param::entry", Space::Param},
      {"param::func", Space::Param}};
  for (auto [name, space] : names)
    if (modifiers.take(name))
      return space;
  return Space::Generic;
}

bool amp::ptx::takeOrdering(Modifiers &modifiers) {
  bool relaxed = false;
  for (std::string_view name :
       {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
    relaxed |= modifiers.take(name);
  for (std::string_view name : {"weak", "cta", "cluster", "gpu", "sys"})
    modifiers.take(name);
  return relaxed;
}

bool amp::ptx::takeCacheHints(Modifiers &modifiers) {
  static constexpr std::string_view names[] = {"nc",
                                               "ca",
                                               "cg",
                                               "cs",
                                               "lu",
                                               "cv",
                                               "wb",
                                               "wt",
                                               "L1::evict_normal",
                                               "L1::evict_unchanged",
                                               "L1::evict_first",
                                               "L1::evict_last",
                                               "L1::no_allocate",
                                               "L2::64B",
                                               "L2::128B",
                                               "L2::256B",
                                               "L2::evict_last",
                                               "L2::evict_normal",
                                               "L2::evict_first"};
  for (std::string_view name : names)
    modifiers.take(name);
  return modifiers.take("L2::cache_hint");
}

void amp::ptx::noteSharedAccess(Decoder &decoder, Space space, uint32_t bytes) {
  if (space != Space::Shared && space != Space::Generic)
    return;
  uint32_t shift = bytes == 1 ? 0 : bytes == 2 ? 1 : 2;
  uint32_t &known = decoder.getProgram().granuleShift;
  known = std::min(known, shift);
}
