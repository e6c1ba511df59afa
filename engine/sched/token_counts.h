#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

/// How often tokens occur in one sequence.
namespace kantha::sched {

/// Follows a sequence as it grows; what it says is a function of the token ids alone, so a request
/// that was preempted, or resumed on another engine, has the same counts. Memory grows with the
/// distinct tokens. One thread at a time.
class TokenCounts {
 public:
  struct Entry {
    TokenId token = 0;
    std::int32_t in_prompt = 0;
    std::int32_t in_output = 0;
  };

  /// Counts what `tokens` has beyond what was counted before: it only ever grows. The first
  /// `prompt_count` are the prompt; they are left out unless `with_prompt`, which never changes.
  void follow(std::span<const TokenId> tokens, std::int32_t prompt_count, bool with_prompt);
  /// In the order in which they first occurred.
  std::span<const Entry> entries() const { return entries_; }

 private:
  Entry& entry_of(TokenId token);
  void grow();
  std::size_t slot_of(TokenId token) const;

  std::vector<Entry> entries_;
  std::vector<std::int32_t> slots_;  ///< open addressing: index of an entry + 1; 0: free
  std::size_t counted_ = 0;          ///< tokens of the sequence
};

}  // namespace kantha::sched
