//===- Access.h - Checked memory accesses -----------------------*- C++ -*-===//
// Addresses of a warp to pointers of this process: bounds, alignment, states,
// races, and what the access costs.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_ACCESS_H
#define AMP_PTXEMULATOR_ACCESS_H

#include "Machine.h"

namespace amp::ptx {

enum AccessFlags : uint16_t {
  SpaceMask = 7, ///< a Space
  IsStore = 8,
  IsRelaxed = 16, ///< ordered by other means: no race
  IsAtomic = 32
};

/// One access of each lane.
struct Access {
  Space space = Space::Generic;
  uint32_t bytes = 4;
  bool isRead = true, isWrite = false, isRelaxed = false;
  uint64_t addresses[numLanes];
};

/// Addresses from row s[0] and imm.
void loadAddresses(Context &context, const Inst &inst, Access &access);

/// Lanes of the mask whose access is right get a pointer; a wrong one is a
/// finding.
uint32_t resolve(Context &context, const Inst &inst, const Access &access,
                 uint8_t *pointers[numLanes]);

// Used by resolve and by what moves blocks of shared memory.
/// Whether [offset, offset + bytes) is shared memory and aligned.
bool checkSharedBounds(Context &context, const Inst &inst, unsigned lane,
                       uint64_t offset, uint32_t bytes, uint32_t alignment);
void noteSharedRead(Context &context, const Inst &inst, unsigned lane,
                    uint32_t offset, uint32_t bytes);
void noteSharedWrite(Context &context, const Inst &inst, unsigned lane,
                     uint32_t offset, uint32_t bytes);
void reportConflict(Context &context, const Inst &inst, unsigned lane,
                    const Conflict &conflict);
/// Whether global [address, address + bytes) is in bounds (one lane), and
/// written, if `isRead`.
bool checkGlobalRange(Context &context, const Inst &inst, unsigned lane,
                      uint64_t address, uint32_t bytes, bool isRead);
void markGlobalWritten(Context &context, uint64_t address, uint32_t bytes);

/// All copies of cp.async that the warp started land.
void landAllCopies(Context &context, const Inst &inst);

// Counters.
void countBanks(Context &context, const Inst &inst, const uint64_t *addresses,
                uint32_t lanes, uint32_t bytes);
void countSectors(Context &context, const Inst &inst, const uint64_t *addresses,
                  uint32_t lanes, uint32_t bytes, bool isWrite);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_ACCESS_H
