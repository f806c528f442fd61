//===- Mbarrier.h - mbarrier objects ----------------------------*- C++ -*-===//
// Their state lies beside shared memory, by offset.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_MBARRIER_H
#define AMP_PTXEMULATOR_MBARRIER_H

#include "Machine.h"

namespace amp::ptx {

/// The object at an address of shared memory; null, with a finding, if there
/// is none that this warp may know of.
Mbarrier *findMbarrier(Context &context, const Inst &inst, unsigned lane,
                       uint64_t offset);
/// Ends the phase if all has arrived.
void completePhase(Block &block, Mbarrier &barrier);

/// Delivers the bulk copies that complete at an mbarrier.
void landBulkCopies(Context &context, uint32_t barrier);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_MBARRIER_H
