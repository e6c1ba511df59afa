#include "engine/dialect/output_parser.h"

#include <memory>
#include <string>
#include <utility>

#include "base/rng.h"

namespace kantha::dialect {
namespace {

/// Without functions there are no calls.
ToolSyntax syntax_for(const ParserOptions& options) {
  return options.offered && !options.offered->empty() ? options.tools : ToolSyntax{};
}

SharedTools tools_of(const ParserOptions& options) {
  return options.offered ? options.offered : std::make_shared<const Tools>();
}

}  // namespace

std::string call_id(std::uint64_t seed, std::int32_t index) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto place = static_cast<std::uint64_t>(index) * 2;
  const std::uint64_t high = random_bits(seed, place);
  const std::uint64_t low = random_bits(seed, place + 1);
  std::string id = "call_";
  for (int i = 15; i >= 0; --i) id += kDigits[(high >> (4 * i)) & 15];
  for (int i = 7; i >= 0; --i) id += kDigits[(low >> (4 * i)) & 15];
  return id;
}

OutputParser::OutputParser(ParserOptions options)
    : reasoning_(options.reasoning, options.inside_reasoning),
      tools_(syntax_for(options), tools_of(options)),
      one_call_(options.one_call),
      id_seed_(options.id_seed) {}

Parsed OutputParser::push(std::string_view text) {
  Parsed parsed;
  std::string rest;
  for (const char byte : text) {
    if (done()) break;
    rest.clear();
    reasoning_.take(byte, parsed.reasoning, rest);
    for (const char part : rest) tools_.take(part, parsed);
  }
  number(parsed);
  return parsed;
}

Parsed OutputParser::finish() {
  Parsed parsed;
  if (done()) return parsed;
  std::string rest;
  reasoning_.end(parsed.reasoning, rest);
  for (const char part : rest) tools_.take(part, parsed);
  tools_.end(parsed);
  number(parsed);
  return parsed;
}

/// A call's first part, which has its name, gets its id.
void OutputParser::number(Parsed& parsed) {
  for (CallDelta& delta : parsed.calls) {
    if (!delta.name.empty()) delta.id = call_id(id_seed_, delta.index);
  }
}

}  // namespace kantha::dialect
