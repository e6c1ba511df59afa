#pragma once

#include <string>
#include <vector>

#include "engine/dialect/output_parser.h"

/// Outputs of many kinds of models, good and broken, and what they mean.
namespace kantha::dialect {

/// Functions get_weather(city, days), add(a, b), ping(), note(text).
SharedTools example_tools();

/// One output and all of its meaning.
struct OutputCase {
  std::string name;
  std::string tool_parser;
  std::string output;
  std::string reasoning = {};
  std::string content = {};
  std::vector<std::pair<std::string, std::string>> calls = {};  ///< name, arguments
  std::string reasoning_parser = "none";
  bool inside_reasoning = false;
  bool one_call = false;
};

const std::vector<OutputCase>& output_cases();

ParserOptions options_of(const OutputCase& output);
/// Parses the pieces one after the other and joins what they give.
Parsed parse_pieces(const ParserOptions& options, const std::vector<std::string>& pieces);
/// The same for tests' messages.
std::string print(const Parsed& parsed);

}  // namespace kantha::dialect
