//===- Rounded.cpp - Rounding modes ---------------------------------------===//
// The mode is set around the loop over the lanes; this file is compiled so
// that the compiler expects it (-frounding-math).
//===----------------------------------------------------------------------===//

#include "Rounded.h"
#include "FloatOps.h"
#include "Machine.h"
#include <cfenv>

using namespace amp::ptx;

Rounding amp::ptx::takeRounding(Modifiers &modifiers) {
  if (modifiers.take("rz"))
    return Rounding::Zero;
  if (modifiers.take("rm"))
    return Rounding::Down;
  if (modifiers.take("rp"))
    return Rounding::Up;
  modifiers.take("rn");
  return Rounding::Nearest;
}

namespace {
class RoundingScope {
public:
  explicit RoundingScope(uint16_t rounding) {
    static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                    FE_UPWARD};
    std::fesetround(modes[rounding & 3]);
  }
  ~RoundingScope() { std::fesetround(FE_TONEAREST); }
};
} // namespace

/// The lanes go through memory that the optimiser cannot see behind the mode.
template <typename T, typename F, unsigned Count, bool Ftz, bool Sat>
static void rounded(Context &context, const Inst &inst) {
  RoundingScope scope(inst.flags);
  volatile T *d = context.row<T>(inst.d[0]);
  const volatile T *s[3];
  for (unsigned i = 0; i < 3; ++i)
    s[i] = context.row<T>(inst.s[i]);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    T a[3] = {};
    for (unsigned i = 0; i < Count; ++i)
      a[i] = Ftz ? flush(T(s[i][lane])) : T(s[i][lane]);
    T result;
    if constexpr (Count == 1)
      result = F()(a[0]);
    else if constexpr (Count == 2)
      result = F()(a[0], a[1]);
    else
      result = F()(a[0], a[1], a[2]);
    result = Ftz ? flush(result) : result;
    d[lane] = Sat ? saturate(result) : canonical(result);
  }
}

template <typename F, unsigned Count>
static Handler pick(Type type, bool ftz, bool sat) {
  if (type == Type::F64)
    return rounded<double, F, Count, false, false>;
  if (sat)
    return ftz ? rounded<float, F, Count, true, true>
               : rounded<float, F, Count, false, true>;
  return ftz ? rounded<float, F, Count, true, false>
             : rounded<float, F, Count, false, false>;
}

Handler amp::ptx::pickRounded(std::string_view base, Type type, bool ftz,
                              bool sat) {
  if (base == "add")
    return pick<FloatAdd, 2>(type, ftz, sat);
  if (base == "sub")
    return pick<FloatSub, 2>(type, ftz, sat);
  if (base == "mul")
    return pick<FloatMul, 2>(type, ftz, sat);
  if (base == "div")
    return pick<FloatDiv, 2>(type, ftz, false);
  if (base == "fma" || base == "mad")
    return pick<FloatFma, 3>(type, ftz, sat);
  if (base == "sqrt")
    return pick<FloatSqrt, 1>(type, ftz, false);
  if (base == "rcp")
    return pick<FloatReciprocal, 1>(type, ftz, false);
  return nullptr;
}
