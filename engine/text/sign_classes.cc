#include "engine/text/sign_classes.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace kantha::text {

SignClasses::SignClasses(std::span<const CodeSet> sets) {
  std::vector<char32_t> edges = {0, kBadSign};
  for (const CodeSet& set : sets) {
    for (const CodeRange& range : set.ranges()) {
      edges.push_back(range.first);
      edges.push_back(range.last + 1);
    }
  }
  std::ranges::sort(edges);
  const auto repeated = std::ranges::unique(edges);
  edges.erase(repeated.begin(), repeated.end());
  std::map<std::vector<bool>, std::size_t> known;
  std::vector<CodeRange> ranges;
  std::vector<std::uint8_t> classes;
  for (std::size_t i = 0; i < edges.size() && edges[i] <= kBadSign; ++i) {
    std::vector<bool> inside;
    for (const CodeSet& set : sets) inside.push_back(set.contains(edges[i]));
    const auto [found, added] = known.try_emplace(std::move(inside), samples_.size());
    if (added) samples_.push_back(edges[i]);
    const char32_t end = i + 1 < edges.size() ? edges[i + 1] : kBadSign + 1;
    ranges.push_back({edges[i], end - 1});
    classes.push_back(static_cast<std::uint8_t>(std::min(found->second, kCountMax)));
  }
  fill_pages(ranges, classes);
}

void SignClasses::fill_pages(std::span<const CodeRange> ranges,
                             std::span<const std::uint8_t> classes) {
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::array<std::uint32_t, kCountMax + 1> plain_pages;  // of one class: most of them
  plain_pages.fill(kNone);
  std::map<std::string, std::uint32_t> known;
  std::size_t range = 0;
  for (std::size_t page = 0; page < page_starts_.size(); ++page) {
    const std::size_t first = page * kPage;
    const std::size_t last = first + kPage - 1;
    const auto next = static_cast<std::uint32_t>(pages_.size());
    while (ranges[range].last < first) ++range;
    if (ranges[range].last >= last) {
      std::uint32_t& start = plain_pages[classes[range]];
      if (start == kNone) {
        start = next;
        pages_.insert(pages_.end(), kPage, classes[range]);
      }
      page_starts_[page] = start;
      continue;
    }
    std::string content;
    for (std::size_t i = range; content.size() < kPage; ++i) {
      const std::size_t end = std::min<std::size_t>(last, ranges[i].last) + 1 - first;
      content.resize(end, static_cast<char>(classes[i]));
    }
    const auto [found, added] = known.try_emplace(content, next);
    if (added) pages_.insert(pages_.end(), content.begin(), content.end());
    page_starts_[page] = found->second;
  }
  std::copy_n(pages_.begin() + page_starts_[0], ascii_.size(), ascii_.begin());
  bad_ = classes.back();
}

}  // namespace kantha::text
