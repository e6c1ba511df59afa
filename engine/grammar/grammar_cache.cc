#include "engine/grammar/grammar_cache.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace kantha::grammar {
namespace {

/// Adds what a wish says to a digest; lengths keep texts apart.
// NOLINTNEXTLINE(misc-no-recursion): wishes are made by us
void add_wish(Sha256& digest, const Wish& wish) {
  const auto add_text = [&](const std::string& text) {
    digest.add(std::to_string(text.size()) + ":");
    digest.add(text);
  };
  digest.add(std::to_string(static_cast<int>(wish.kind)) + (wish.compact ? "c" : "-"));
  digest.add(std::to_string(wish.count_min) + "," + std::to_string(wish.count_max) + ";");
  add_text(dump_json(wish.schema));
  add_text(wish.text);
  digest.add(std::to_string(wish.texts.size()) + "," + std::to_string(wish.parts.size()) + ";");
  for (const std::string& text : wish.texts) add_text(text);
  for (const Wish& part : wish.parts) add_wish(digest, part);
}

std::string key_of(const Wish& wish) {
  Sha256 digest;
  add_wish(digest, wish);
  return digest.hex();
}

// NOLINTNEXTLINE(misc-no-recursion): wishes are made by us
void add_paths(Sha256& digest, const Wish& wish) {
  digest.add(std::to_string(wish.path.size()) + ":");
  digest.add(wish.path);
  for (const Wish& part : wish.parts) add_paths(digest, part);
}

/// An error says where in the request its wish stands; a grammar does not.
std::string failure_key_of(const Wish& wish) {
  Sha256 digest;
  add_wish(digest, wish);
  add_paths(digest, wish);
  return digest.hex();
}

}  // namespace

std::shared_ptr<const Grammar> GrammarCache::find(const Wish& wish) {
  return find_key(key_of(wish));
}

std::shared_ptr<const Grammar> GrammarCache::find_key(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return nullptr;
  ++hits_;
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->grammar;
}

Result<std::shared_ptr<const Grammar>> GrammarCache::get(const Wish& wish,
                                                         const text::Tokenizer& tokenizer) {
  std::string key = key_of(wish);
  if (auto known = find_key(key)) return known;
  std::string failure_key = failure_key_of(wish);
  {
    const std::scoped_lock lock(mutex_);
    if (const Error* failure = failure_of(failure_key)) return *failure;
    ++compilations_;
  }
  auto compiled = compile(wish, lexicon_of(tokenizer));
  if (!compiled.ok()) {
    keep_failure(std::move(failure_key), compiled.error());
    return compiled;
  }
  const std::shared_ptr<const Grammar> grammar = *std::move(compiled);
  grammar->prepare();
  const std::scoped_lock lock(mutex_);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return known->second->grammar;
  entries_.push_front({key, grammar});
  by_key_.emplace(std::move(key), entries_.begin());
  make_room();
  return grammar;
}

bool GrammarCache::fails(const Wish& wish) const {
  const std::string key = failure_key_of(wish);
  const std::scoped_lock lock(mutex_);
  return failure_of(key) != nullptr;
}

const Error* GrammarCache::failure_of(const std::string& key) const {
  const auto known = std::ranges::find(failures_, key, &Failure::key);
  return known == failures_.end() ? nullptr : &known->error;
}

/// Paths are the client's property names, which may be long.
void GrammarCache::keep_failure(std::string key, const Error& error) {
  constexpr std::size_t kTextMax = 4096;
  if (error.message.size() + error.field.size() > kTextMax) return;
  const std::scoped_lock lock(mutex_);
  if (failure_of(key) != nullptr) return;
  failures_.push_front({std::move(key), error});
  if (failures_.size() > kFailuresMax) failures_.pop_back();
}

/// Masks grow after a grammar was kept, so that all are counted each time.
void GrammarCache::make_room() {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.grammar->memory_bytes();
  while (entries_.size() > 1 && (entries_.size() > kCountMax || bytes > kBytesMax)) {
    bytes -= entries_.back().grammar->memory_bytes();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::shared_ptr<const Lexicon> GrammarCache::lexicon_of(const text::Tokenizer& tokenizer) {
  const std::scoped_lock lock(lexicon_mutex_);
  if (!lexicon_) lexicon_ = Lexicon::of(tokenizer);
  return lexicon_;
}

std::size_t GrammarCache::size() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

std::uint64_t GrammarCache::hits() const {
  const std::scoped_lock lock(mutex_);
  return hits_;
}

std::uint64_t GrammarCache::compilations() const {
  const std::scoped_lock lock(mutex_);
  return compilations_;
}

}  // namespace kantha::grammar
