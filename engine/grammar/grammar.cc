#include "engine/grammar/grammar.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/grammar/matcher.h"
#include "engine/grammar/program.h"
#include "engine/grammar/wish_compiler.h"

namespace kantha::grammar {
namespace {

/// Texts of all kinds in a wish.
// NOLINTNEXTLINE(misc-no-recursion): wishes are made by us
std::size_t text_bytes(const Wish& wish) {
  std::size_t bytes = wish.text.size();
  for (const std::string& text : wish.texts) bytes += text.size();
  for (const Wish& part : wish.parts) bytes += text_bytes(part);
  return bytes;
}

/// How much of the lexicon begins with each byte [256].
std::vector<std::size_t> nodes_by_byte(const Lexicon& lexicon) {
  const std::span<const LexiconNode> nodes = lexicon.nodes();
  std::vector<std::size_t> counts(256);
  for (std::uint32_t node = 1; node < nodes[0].after; node = nodes[node].after) {
    counts[nodes[node].byte] = nodes[node].after - node;
  }
  return counts;
}

/// States whose masks take more than a moment, the longest first.
std::vector<StateId> slow_states(const Program& program) {
  const std::vector<std::size_t> counts = nodes_by_byte(*program.lexicon);
  const std::size_t slow = program.lexicon->nodes().size() / 64;
  std::vector<std::pair<std::size_t, StateId>> found;
  for (StateId state = 0; state + 1 < program.states.size(); ++state) {
    if (program.alike[state] != state) continue;
    std::size_t nodes = 0;
    for (const DfaEdge& edge : program.edges_of(state)) {
      for (unsigned byte = edge.low; byte <= edge.high; ++byte) nodes += counts[byte];
    }
    if (nodes > slow) found.emplace_back(nodes, state);
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<StateId> states;
  for (const auto& [nodes, state] : found) states.push_back(state);
  return states;
}

std::string path_of(const Wish& wish) { return wish.path.empty() ? "grammar" : wish.path; }

}  // namespace

Grammar::Grammar(std::unique_ptr<Program> program) : program_(std::move(program)) {}
Grammar::~Grammar() = default;

const Lexicon& Grammar::lexicon() const { return *program_->lexicon; }

std::size_t Grammar::memory_bytes() const {
  return program_->memory_bytes() + program_->masks.memory_bytes();
}

void Grammar::prepare() const {
  constexpr std::size_t kStepsMax = 12'000'000;
  Matcher matcher(*program_);
  std::size_t steps = 0;
  for (const StateId state : slow_states(*program_)) {
    if (steps >= kStepsMax || matcher.is_overrun()) return;
    steps += matcher.prepare(state);
  }
}

Result<std::shared_ptr<const Grammar>> compile(const Wish& wish,
                                               std::shared_ptr<const Lexicon> lexicon,
                                               const Limits& limits) {
  Budget budget(limits);
  budget.set_place(path_of(wish));
  const std::size_t bytes = text_bytes(wish);
  if (bytes > limits.text_bytes_max) {
    return invalid_argument(path_of(wish) + ": expected at most " +
                                std::to_string(limits.text_bytes_max) + " bytes, got " +
                                std::to_string(bytes),
                            path_of(wish));
  }
  RuleSet rules;
  TRY(const RuleId root, compile_wish(wish, *lexicon, rules, budget));
  TRY(auto program, link(rules, root, std::move(lexicon), path_of(wish), budget));
  return std::make_shared<const Grammar>(std::move(program));
}

GrammarState::GrammarState(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), matcher_(std::make_unique<Matcher>(grammar_->program())) {}
GrammarState::GrammarState(GrammarState&&) noexcept = default;
GrammarState& GrammarState::operator=(GrammarState&&) noexcept = default;
GrammarState::~GrammarState() = default;

bool GrammarState::accept(TokenId token) {
  const Lexicon& lexicon = grammar_->lexicon();
  if (token < 0 || token >= lexicon.vocabulary_size()) return false;
  const std::string_view bytes = lexicon.bytes_of(token);
  return !bytes.empty() && matcher_->accept(bytes);
}

bool GrammarState::accept(std::string_view bytes) { return matcher_->accept(bytes); }
bool GrammarState::is_complete() const { return matcher_->is_complete(); }
bool GrammarState::is_finished() const { return matcher_->is_finished(); }
bool GrammarState::is_overrun() const { return matcher_->is_overrun(); }
void GrammarState::fill_mask(std::span<std::uint64_t> mask) { matcher_->fill_mask(mask); }

}  // namespace kantha::grammar
