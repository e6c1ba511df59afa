#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "engine/grammar/grammar.h"

namespace kantha::text {
class Tokenizer;
}

namespace kantha::grammar {

/// Compiled grammars of one model, by what they were compiled from: the same schema comes with each
/// request of an application. Those that were longest unused go first. What could not be compiled
/// is remembered too, with its error: limits count and do not time, so that it would fail again.
/// Any thread; whoever asks for what is not there compiles it, so that nobody waits for others'
/// schemas.
class GrammarCache {
 public:
  static constexpr std::size_t kCountMax = 64;
  static constexpr std::size_t kBytesMax = 256u << 20;
  static constexpr std::size_t kFailuresMax = 64;

  /// What is there; null when it has to be compiled.
  std::shared_ptr<const Grammar> find(const Wish& wish);
  /// Is it remembered as one that cannot be compiled?
  bool fails(const Wish& wish) const;
  /// The tokenizer is that of the model, always the same one. Errors are those of compile.
  Result<std::shared_ptr<const Grammar>> get(const Wish& wish, const text::Tokenizer& tokenizer);

  std::size_t size() const;
  std::uint64_t hits() const;
  std::uint64_t compilations() const;  ///< begun so far, those that failed included

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Grammar> grammar;
  };

  struct Failure {
    std::string key;  ///< with the paths that the error names
    Error error;
  };

  std::shared_ptr<const Grammar> find_key(const std::string& key);
  std::shared_ptr<const Lexicon> lexicon_of(const text::Tokenizer& tokenizer);
  const Error* failure_of(const std::string& key) const;
  void keep_failure(std::string key, const Error& error);
  void make_room();

  mutable std::mutex mutex_;
  std::mutex lexicon_mutex_;
  std::shared_ptr<const Lexicon> lexicon_;
  std::list<Entry> entries_;  ///< the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  std::deque<Failure> failures_;  ///< the latest first
  std::uint64_t hits_ = 0;
  std::uint64_t compilations_ = 0;
};

}  // namespace kantha::grammar
