#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/grammar/lexicon.h"
#include "engine/grammar/wish.h"

/// From a wish to the tokens that may come next.
namespace kantha::grammar {

class Matcher;
struct Program;

/// A wish that was compiled for one vocabulary. Immutable to its users, any thread: what it
/// remembers of token masks is filled in without locks.
class Grammar {
 public:
  explicit Grammar(std::unique_ptr<Program> program);
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;
  ~Grammar();

  const Program& program() const { return *program_; }
  const Lexicon& lexicon() const;
  /// Bytes that it holds, masks included: what a cache counts.
  std::size_t memory_bytes() const;
  /// Makes the masks that take longest ahead of the first step that needs them, as many as can be
  /// had in a fraction of a second.
  void prepare() const;

 private:
  std::unique_ptr<Program> program_;
};

/// Compiles a wish. kInvalidArgument names the keyword and its path when it is malformed, cannot be
/// enforced, beyond a limit, or has no answer at all. Takes up to a second: not for the engine's or
/// an I/O thread. Pure; any thread.
Result<std::shared_ptr<const Grammar>> compile(const Wish& wish,
                                               std::shared_ptr<const Lexicon> lexicon,
                                               const Limits& limits = {});

/// Where one answer stands in its grammar. Follows tokens, never goes back; one thread at a time.
class GrammarState {
 public:
  explicit GrammarState(std::shared_ptr<const Grammar> grammar);
  GrammarState(GrammarState&&) noexcept;
  GrammarState& operator=(GrammarState&&) noexcept;
  ~GrammarState();

  /// Takes an output token. False when its bytes may not come here: then nothing is changed. A
  /// token without bytes (an end token) is never accepted: whoever has drawn one has ended the
  /// answer.
  bool accept(TokenId token);
  /// The same, for bytes.
  bool accept(std::string_view bytes);
  /// What has come is an answer: end tokens may be drawn.
  bool is_complete() const;
  /// It is, and nothing may follow.
  bool is_finished() const;
  /// Too many ways to read what has come (an ambiguous grammar): nothing can be said any more.
  bool is_overrun() const;
  /// Sets the bits of the tokens that may come next and clears all others: bit `id % 64` of
  /// `mask[id / 64]`; end tokens are not among them. [(vocabulary + 63) / 64]
  void fill_mask(std::span<std::uint64_t> mask);

  const Grammar& grammar() const { return *grammar_; }

 private:
  std::shared_ptr<const Grammar> grammar_;
  std::unique_ptr<Matcher> matcher_;
};

}  // namespace kantha::grammar
