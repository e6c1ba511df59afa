#pragma once

#include <string>

/// How Python writes values; to_text() of template_value.h is the way in for whole values.
namespace kantha::text {

/// repr of a float: the shortest digits that read back the same, "1.0", "1e+16", "nan".
std::string print_float(double number);

}  // namespace kantha::text
