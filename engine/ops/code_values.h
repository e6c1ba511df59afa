#pragma once

#include <cstdint>

/// What the codes of the types that are no straight line stand for. Plain constants: kernels for
/// instruction sets that this machine may lack include them too.
namespace kantha::ops {

/// IQ4_NL and IQ4_XS: levels that lie denser around zero. Source: ggml's table of that type.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

/// MXFP4: twice the values of the 4-bit float E2M1 (sign, two exponent bits, one fraction bit).
/// Source: OCP Microscaling Formats 1.0, section 5.3.3.
inline constexpr std::int8_t kE2m1Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace kantha::ops
