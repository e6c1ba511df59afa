#pragma once

#include <string_view>
#include <vector>

/// The line structure of YAML text, which has to be known before yaml-cpp sees it. Any thread.
namespace kantha {

/// One document's text with its own marker line, and the line (from 1) where it begins.
struct YamlPiece {
  std::string_view text;
  int line = 1;
};

/// Cuts a text at its document markers: lines that begin with "---" or "..." followed by blank or
/// the line's end. YAML forbids such lines inside any scalar, so no meaning is needed. (yaml-cpp
/// 0.7's own LoadAll takes gigabytes on some malformed texts.)
std::vector<YamlPiece> split_yaml(std::string_view text);

/// The line (from 1) of the first byte that is not UTF-8 or is a control character other than
/// tab, LF and CR; 0 when there is none.
int line_of_bad_byte(std::string_view text);

}  // namespace kantha
