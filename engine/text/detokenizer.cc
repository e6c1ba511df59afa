#include "engine/text/detokenizer.h"

#include <algorithm>
#include <utility>

#include "engine/text/utf8.h"

namespace kantha::text {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, std::vector<std::string> stop_strings,
                         bool include_stop)
    : tokenizer_(tokenizer), include_stop_(include_stop) {
  for (std::string& stop : stop_strings) stops_.emplace_back(std::move(stop));
}

/// Offset of the earliest byte that may begin a stop string still to be completed.
std::size_t Detokenizer::first_pending() const {
  std::size_t longest = 0;
  for (const StopMatcher& stop : stops_) longest = std::max(longest, stop.pending());
  return taken_ + held_.size() - longest;
}

void Detokenizer::take_byte(char byte, bool watched) {
  held_.push_back(byte);
  if (!watched) return;
  const std::size_t end = taken_ + held_.size();
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    StopMatcher& stop = stops_[i];
    if (!stop.advance(byte)) continue;
    const Found now{end - stop.length(), end, i};
    // An equal start with a later end loses: the shortest came first.
    if (!found_ || now.start < found_->start) found_ = now;
  }
  stopped_ = found_ && first_pending() >= found_->start;
}

/// Moves the decided part of held_ out. `final`: nothing more will come.
std::string Detokenizer::take_safe(bool final) {
  std::size_t end = final ? taken_ + held_.size() : first_pending();
  if (stopped_) end = include_stop_ ? found_->end : found_->start;
  std::string shown;
  const std::string_view decided = std::string_view(held_).substr(0, end - taken_);
  const std::size_t count = append_valid_utf8(shown, decided, final || stopped_);
  held_.erase(0, count);
  taken_ += count;
  if (final || stopped_) held_.clear();
  return shown;
}

std::string Detokenizer::push(TokenId id, bool watched) {
  return push_bytes(tokenizer_.bytes_of(id), watched);
}

std::string Detokenizer::push_bytes(std::string_view bytes, bool watched) {
  if (stopped_) return {};
  for (const char byte : bytes) {
    take_byte(byte, watched);
    if (stopped_) break;
  }
  return take_safe(/*final=*/false);
}

std::string Detokenizer::flush() {
  if (stopped_) return {};
  stopped_ = found_.has_value();
  return take_safe(/*final=*/true);
}

}  // namespace kantha::text
