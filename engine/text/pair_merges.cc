#include "engine/text/pair_merges.h"

#include <string>

namespace kantha::text {

Result<MergeTable> read_merges(const TokenTable& table) {
  const auto& list = table.vocabulary.merges;
  MergeTable merges(list.size());
  std::string whole;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view merge = list[i];
    const auto bad = [&](std::string_view what) {
      return invalid_argument("merges[" + std::to_string(i) + "]: expected " + std::string(what) +
                              ", got \"" + std::string(merge) + "\"");
    };
    const std::size_t blank = merge.find(' ', 1);
    if (blank == std::string_view::npos || blank + 1 == merge.size()) {
      return bad("two tokens with a blank between them");
    }
    whole.assign(merge.substr(0, blank)).append(merge.substr(blank + 1));
    const auto left = table.by_text.find(merge.substr(0, blank));
    const auto right = table.by_text.find(merge.substr(blank + 1));
    const auto result = table.by_text.find(whole);
    if (left == table.by_text.end() || right == table.by_text.end() ||
        result == table.by_text.end()) {
      return bad("two tokens that make a third of the vocabulary");
    }
    if (table.is_control(result->second)) continue;
    merges.add(left->second, right->second, {static_cast<std::int32_t>(i), result->second});
  }
  return merges;
}

}  // namespace kantha::text
