//===- Rows.h - Loops over the lanes of a warp ------------------*- C++ -*-===//
// What handlers of plain values are made of; the compiler vectorises it.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_ROWS_H
#define AMP_PTXEMULATOR_ROWS_H

#include "Machine.h"

namespace amp::ptx {

/// d[lane] = value(lane) in active lanes. A source may be the same row.
template <typename D, typename F>
inline void setLanes(const Context &context, D *d, F value) {
  uint32_t mask = context.mask;
  if (mask == allLanes) {
#pragma clang loop vectorize(assume_safety)
    for (unsigned lane = 0; lane < numLanes; ++lane)
      d[lane] = value(lane);
    return;
  }
#pragma clang loop vectorize(assume_safety)
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    D computed = value(lane);
    d[lane] = mask >> lane & 1 ? computed : d[lane];
  }
}

template <typename D, typename A, typename F>
void unary(Context &context, const Inst &inst) {
  const A *a = context.row<A>(inst.s[0]);
  setLanes(context, context.row<D>(inst.d[0]),
           [=](unsigned lane) { return static_cast<D>(F()(a[lane])); });
}

template <typename D, typename A, typename B, typename F>
void binary(Context &context, const Inst &inst) {
  const A *a = context.row<A>(inst.s[0]);
  const B *b = context.row<B>(inst.s[1]);
  setLanes(context, context.row<D>(inst.d[0]), [=](unsigned lane) {
    return static_cast<D>(F()(a[lane], b[lane]));
  });
}

template <typename D, typename A, typename B, typename C, typename F>
void ternary(Context &context, const Inst &inst) {
  const A *a = context.row<A>(inst.s[0]);
  const B *b = context.row<B>(inst.s[1]);
  const C *c = context.row<C>(inst.s[2]);
  setLanes(context, context.row<D>(inst.d[0]), [=](unsigned lane) {
    return static_cast<D>(F()(a[lane], b[lane], c[lane]));
  });
}

/// A bit per lane where `test(lane)` holds.
template <typename F> inline uint32_t collectLanes(F test) {
  uint32_t bits = 0;
#pragma clang loop vectorize(enable)
  for (unsigned lane = 0; lane < numLanes; ++lane)
    bits |= test(lane) ? uint32_t(1) << lane : 0;
  return bits;
}

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_ROWS_H
