#include "engine/text/word_splitter.h"

#include <array>
#include <utility>

#include "engine/text/unicode_categories.h"

namespace kantha::text {
namespace {

constexpr std::size_t kStepsMax = 16;

SignClasses digit_classes(std::string_view category) {
  CodeSet word('_', '_');
  for (const std::string_view name : {"Lu", "Ll", "Lt", "Lm", "Lo", "M", "N"}) {
    word.add(CodeSet(unicode_category(name)));
  }
  return SignClasses(std::array{CodeSet(unicode_category(category)), word});
}

}  // namespace

Result<WordSplitter> WordSplitter::build(std::span<const std::string> patterns) {
  if (patterns.empty() || patterns.size() > kStepsMax) {
    return invalid_argument("splits: expected 1 to 16 patterns, got " +
                            std::to_string(patterns.size()));
  }
  WordSplitter splitter;
  for (const std::string& source : patterns) {
    if (source == kThreesCut) {
      splitter.steps_.emplace_back(Threes{.digits = digit_classes("Nd"), .isolates = false});
    } else if (source == kThreesBeforeBorder) {
      splitter.steps_.emplace_back(Threes{.digits = digit_classes("Nd"), .needs_border = true});
    } else if (source == kThreesOfNumbers) {
      splitter.steps_.emplace_back(Threes{.digits = digit_classes("N")});
    } else {
      TRY(SplitPattern pattern, SplitPattern::compile(source));
      splitter.steps_.emplace_back(std::move(pattern));
    }
  }
  return splitter;
}

std::vector<std::size_t> WordSplitter::split(std::string_view text) const {
  std::vector<std::size_t> ends;
  split_stretch(text, 0, text.size(), 0, ends);
  return ends;
}

void WordSplitter::split_threes(const Threes& threes, std::string_view text, std::size_t start,
                                std::size_t end,
                                const std::function<void(std::size_t)>& cut) const {
  const SignClasses& classes = threes.digits;
  const std::uint8_t digit = classes.at("0", 0).sign_class;
  const std::uint8_t letter = classes.at("a", 0).sign_class;
  std::vector<std::size_t> run;  // where its digits begin
  for (std::size_t at = start; at < end;) {
    Sign sign = classes.at(text, at);
    if (sign.sign_class != digit) {
      at += sign.length;
      continue;
    }
    run.clear();
    while (at < end && (sign = classes.at(text, at)).sign_class == digit) {
      run.push_back(at);
      at += sign.length;
    }
    if (threes.needs_border && at < end && classes.at(text, at).sign_class == letter) continue;
    for (std::size_t i = 0; i < run.size(); ++i) {
      if ((run.size() - i) % 3 == 0 || (i == 0 && threes.isolates)) cut(run[i]);
    }
    if (threes.isolates) cut(at);
  }
}

/// Cuts text[start, end) by the steps from `step` on and appends the ends of its words.
void WordSplitter::split_stretch(std::string_view text, std::size_t start, std::size_t end,
                                 std::size_t step, std::vector<std::size_t>& ends) const {
  if (start == end) return;
  if (step == steps_.size()) {
    ends.push_back(end);
    return;
  }
  std::size_t open = start;
  const auto cut = [&](std::size_t at) {
    split_stretch(text, open, at, step + 1, ends);
    open = at;
  };
  if (const auto* threes = std::get_if<Threes>(&steps_[step])) {
    split_threes(*threes, text, start, end, cut);
    return cut(end);
  }
  const auto& pattern = std::get<SplitPattern>(steps_[step]);
  const std::string_view stretch = text.substr(0, end);
  SplitPattern::Run run;
  for (std::size_t at = start; at < end;) {
    const std::size_t match = pattern.match_end(stretch, at, run);
    if (match == at) {
      at = pattern.next_start(stretch, at);
      continue;
    }
    cut(at);
    cut(match);
    at = match;
  }
  cut(end);
}

}  // namespace kantha::text
