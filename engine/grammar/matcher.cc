#include "engine/grammar/matcher.h"

#include <algorithm>

namespace kantha::grammar {
namespace {

/// Items up to which a level is searched one by one.
constexpr std::size_t kSmall = 24;
constexpr StateId kNowhere = ~StateId{0};

std::uint64_t key_of(Item item) { return std::uint64_t{item.state} << 32 | item.frame; }

StateId next_state(std::span<const DfaEdge> edges, unsigned char byte) {
  if (edges.size() <= 8) {
    for (const DfaEdge& edge : edges) {
      if (byte <= edge.high) return byte >= edge.low ? edge.to : kNowhere;
    }
    return kNowhere;
  }
  const auto at = std::ranges::lower_bound(edges, byte, {}, &DfaEdge::high);
  return at != edges.end() && at->low <= byte ? at->to : kNowhere;
}

void set_range(std::array<std::uint64_t, 4>& bits, unsigned low, unsigned high) {
  for (unsigned word = low / 64; word <= high / 64; ++word) {
    const unsigned begin = std::max(low, word * 64) % 64;
    const unsigned end = std::min(high, word * 64 + 63) % 64;
    const std::uint64_t upto = end == 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end + 1)) - 1;
    bits[word] |= upto & ~((std::uint64_t{1} << begin) - 1);
  }
}

void set_bit(std::span<std::uint64_t> mask, TokenId token) {
  mask[static_cast<std::size_t>(token) / 64] |= std::uint64_t{1} << (token % 64);
}

/// What `base` has of tokens up to so many bytes.
void take_short(const Lexicon& lexicon, const LocalMask& base, std::size_t known, LocalMask& mask) {
  const std::span<const std::uint64_t> up_to = lexicon.tokens_up_to(known);
  mask.bits = base.bits;
  for (std::size_t i = 0; i < mask.bits.size(); ++i) mask.bits[i] &= up_to[i];
  for (const TokenId token : base.few) {
    if (lexicon.bytes_of(token).size() <= known) mask.few.push_back(token);
  }
  for (const std::uint32_t exit : base.exits) {
    if (lexicon.nodes()[exit].depth < known) mask.exits.push_back(exit);
  }
}

}  // namespace

Matcher::Matcher(const Program& program) : program_(program) {
  begin_level(now_);
  add(now_, {program_.start, FramePool::kRoot});
  close(now_);
  now_.complete = program_.may_be_empty;
}

void Matcher::begin_level(Level& level) {
  level.items.clear();
  level.complete = false;
  level.exits = false;
  opened_.clear();
  if (!seen_.empty()) seen_.clear();
}

void Matcher::add(Level& level, Item item) {
  std::vector<Item>& items = level.items;
  if (items.size() < kSmall) {
    if (std::ranges::find(items, item) != items.end()) return;
  } else {
    if (seen_.empty()) {
      for (const Item& known : items) seen_.insert(key_of(known));
    }
    if (!seen_.insert(key_of(item)).second) return;
    if (items.size() >= kItemsMax) {
      overrun_ = true;
      return;
    }
  }
  items.push_back(item);
}

void Matcher::close(Level& level) {
  for (std::size_t i = 0; i < level.items.size(); ++i) {
    const Item item = level.items[i];
    for (const Program::Call& made : program_.calls_of(item.state)) call(level, made, item.frame);
    if (program_.states[item.state].accepts) finish_rule(level, item.frame);
  }
  steps_ += level.items.size();
  std::erase_if(level.items,
                [&](const Item& item) { return program_.edges_of(item.state).empty(); });
  level.end = frames_.mark();
}

void Matcher::call(Level& level, const Program::Call& made, FrameId frame) {
  if (made.last) return add(level, {made.start, frame});
  const auto open = std::ranges::find(opened_, made.start, &std::pair<StateId, FrameId>::first);
  if (open != opened_.end()) {
    return frames_.add_return(open->second, {made.to, frame});
  }
  const FrameId opened = frames_.open();
  opened_.emplace_back(made.start, opened);
  frames_.add_return(opened, {made.to, frame});
  add(level, {made.start, opened});
}

void Matcher::finish_rule(Level& level, FrameId frame) {
  if (frame == FramePool::kRoot) {
    level.complete = true;
  } else if (frame == FramePool::kUnknown) {
    level.exits = true;
  } else {
    frames_.for_each_return(frame, [&](Item item) { add(level, item); });
  }
}

/// The same where there is one reading that neither ends a rule nor calls one: inside of strings,
/// and so for most of the lexicon.
bool Matcher::step_simply(const Level& from, unsigned char byte, Level& to) {
  if (from.items.size() != 1) return false;
  const Item item = from.items.front();
  const StateId next = next_state(program_.edges_of(item.state), byte);
  if (next == kNowhere || program_.states[next].accepts || !program_.calls_of(next).empty()) {
    return false;
  }
  to.items.assign(1, {next, item.frame});
  to.complete = false;
  to.exits = false;
  to.end = frames_.mark();
  ++steps_;
  return true;
}

void Matcher::step(const Level& from, unsigned char byte, Level& to) {
  if (step_simply(from, byte, to)) return;
  begin_level(to);
  for (const Item& item : from.items) {
    const StateId next = next_state(program_.edges_of(item.state), byte);
    if (next != kNowhere) add(to, {next, item.frame});
  }
  close(to);
}

bool Matcher::accept(std::string_view bytes) {
  if (overrun_) return false;
  const Level before = now_;
  const FramePool::Mark mark = frames_.mark();
  for (const char c : bytes) {
    step(now_, static_cast<unsigned char>(c), next_);
    std::swap(now_, next_);
    if (now_.alive() && !overrun_) continue;
    now_ = before;
    frames_.cut(mark);
    return false;
  }
  if (frames_.size() > collect_at_) {
    frames_.collect(now_.items);
    now_.end = frames_.mark();
    collect_at_ = 2 * frames_.size() + 8192;
  }
  return true;
}

/// The bytes that may follow.
void Matcher::open_level(Level& level) {
  level.bytes = {};
  for (const Item& item : level.items) {
    for (const DfaEdge& edge : program_.edges_of(item.state)) {
      set_range(level.bytes, edge.low, edge.high);
    }
  }
}

Level& Matcher::level_at(std::size_t depth) {
  if (levels_.size() <= depth) levels_.resize(depth + 8);
  return levels_[depth];
}

template <class Visit>
void Matcher::walk(std::uint32_t root, std::size_t known, Visit visit) {
  const std::span<const LexiconNode> nodes = program_.lexicon->nodes();
  ends_.assign(1, nodes[root].after);
  std::uint32_t node = root + 1;
  while (node < nodes[root].after && !overrun_) {
    while (node == ends_.back()) ends_.pop_back();
    const std::size_t depth = ends_.size() - 1;
    const unsigned char byte = nodes[node].byte;
    const std::uint32_t after = nodes[node].after;
    const bool short_only = std::size_t{nodes[node].depth} + nodes[node].height <= known;
    if (short_only || (levels_[depth].bytes[byte / 64] >> (byte % 64) & 1) == 0) {
      node = after;
      continue;
    }
    level_at(depth + 1);
    frames_.cut(levels_[depth].end);
    step(levels_[depth], byte, levels_[depth + 1]);
    visit(node, levels_[depth + 1]);
    if (node + 1 == after || levels_[depth + 1].items.empty()) {
      node = after;
      continue;
    }
    open_level(levels_[depth + 1]);
    ends_.push_back(after);
    ++node;
    overrun_ = overrun_ || steps_ > kStepsMax;
  }
}

/// Tokens of more than `known` bytes, and exits after as many or more, that a state can take.
void Matcher::walk_all(StateId state, std::size_t known, LocalMask& mask) {
  const Lexicon& lexicon = *program_.lexicon;
  const std::span<const LexiconNode> nodes = lexicon.nodes();
  Level& first = level_at(0);
  begin_level(first);
  first.items.push_back({state, FramePool::kUnknown});
  const FramePool::Mark mark = frames_.mark();
  first.end = mark;
  open_level(first);
  walk(0, known, [&](std::uint32_t node, const Level& level) {
    if (!level.exits && level.items.empty()) return;
    const std::size_t depth = nodes[node].depth;
    if (depth > known) {
      const std::span<const TokenId> tokens = lexicon.tokens_at(node);
      mask.few.insert(mask.few.end(), tokens.begin(), tokens.end());
    }
    if (level.exits && depth >= known && node + 1 < nodes[node].after) mask.exits.push_back(node);
  });
  frames_.cut(mark);
}

/// From the mask of a near state only what long tokens make different is looked for.
std::unique_ptr<LocalMask> Matcher::make_mask(StateId state) {
  constexpr std::uint32_t kNearMin = 2;
  const Lexicon& lexicon = *program_.lexicon;
  const Program::Near near = program_.near[state];
  auto mask = std::make_unique<LocalMask>();
  const std::size_t known =
      near.bytes < kNearMin ? 0 : std::min<std::size_t>(near.bytes, Lexicon::kShortMax);
  if (known > 0) take_short(lexicon, mask_of(near.state), known, *mask);
  walk_all(state, known, *mask);
  const std::size_t words = lexicon.words();
  if (mask->bits.empty() && mask->few.size() * sizeof(TokenId) > words * sizeof(std::uint64_t)) {
    mask->bits.resize(words);
  }
  if (!mask->bits.empty()) {
    for (const TokenId token : mask->few) set_bit(mask->bits, token);
    mask->few = {};
  }
  mask->few.shrink_to_fit();
  mask->exits.shrink_to_fit();
  return mask;
}

const LocalMask& Matcher::mask_of(StateId any) {
  const StateId state = program_.alike[any];
  if (const LocalMask* known = program_.masks.find(state)) return *known;
  std::unique_ptr<LocalMask> made = make_mask(state);
  if (overrun_) {
    unkept_ = std::move(made);
    return *unkept_;
  }
  auto copy = std::make_unique<const LocalMask>(*made);
  if (const LocalMask* kept = program_.masks.keep(state, std::move(copy))) return *kept;
  unkept_ = std::move(made);
  return *unkept_;
}

std::size_t Matcher::prepare(StateId state) {
  steps_ = 0;
  mask_of(state);
  return steps_;
}

/// Tokens that go on after a rule that `frame` called.
void Matcher::add_exits(FrameId frame, std::span<const std::uint32_t> exits,
                        std::span<std::uint64_t> mask) {
  const FramePool::Mark mark = frames_.mark();
  Level& first = level_at(0);
  begin_level(first);
  finish_rule(first, frame);
  close(first);
  open_level(first);
  if (first.items.empty()) return frames_.cut(mark);
  for (const std::uint32_t exit : exits) {
    walk(exit, /*known=*/0, [&](std::uint32_t node, const Level& level) {
      if (!level.alive()) return;
      for (const TokenId token : program_.lexicon->tokens_at(node)) set_bit(mask, token);
    });
  }
  frames_.cut(mark);
}

void Matcher::fill_mask(std::span<std::uint64_t> mask) {
  std::ranges::fill(mask, 0);
  steps_ = 0;
  for (const Item& item : now_.items) {
    const LocalMask& local = mask_of(item.state);
    for (std::size_t i = 0; i < local.bits.size(); ++i) mask[i] |= local.bits[i];
    for (const TokenId token : local.few) set_bit(mask, token);
    if (!local.exits.empty()) add_exits(item.frame, local.exits, mask);
  }
}

}  // namespace kantha::grammar
