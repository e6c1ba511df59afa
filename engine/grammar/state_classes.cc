#include "engine/grammar/state_classes.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kantha::grammar {
namespace {

/// Edges looked at; a fraction of a second.
constexpr std::size_t kWorkMax = 6'000'000;

void add_number(std::string& text, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(number >> shift & 0xFF);
}

/// What can be seen of a state and, by their classes, of those that it leads to. A rule takes at
/// least one byte, so that what comes after a call is one byte away as well.
void add_view(std::string& text, const Program& program, StateId state,
              const std::vector<StateId>& classes) {
  const auto edges = program.edges_of(state);
  text += program.states[state].accepts ? '+' : '-';
  add_number(text, static_cast<std::uint32_t>(edges.size()));
  for (const DfaEdge& edge : edges) {
    text += static_cast<char>(edge.low);
    text += static_cast<char>(edge.high);
    add_number(text, classes[edge.to]);
  }
  for (const Program::Call& call : program.calls_of(state)) {
    text += call.last ? '!' : '.';
    add_number(text, call.start);
    add_number(text, classes[call.to]);
  }
}

/// Splits the classes by one more byte; their number. A state that becomes the first of a class was
/// like the first one of its old class by `bytes` bytes.
std::size_t split(const Program& program, std::size_t bytes, std::vector<StateId>& classes,
                  std::vector<Program::Near>& near) {
  std::string text;
  std::vector<std::size_t> begins;
  for (StateId state = 0; state < classes.size(); ++state) {
    begins.push_back(text.size());
    add_view(text, program, state, classes);
  }
  begins.push_back(text.size());
  std::unordered_map<std::string_view, StateId> first;
  const std::string_view all = text;
  for (StateId state = 0; state < classes.size(); ++state) {
    const std::string_view view = all.substr(begins[state], begins[state + 1] - begins[state]);
    const StateId now = first.try_emplace(view, state).first->second;
    if (now == state && classes[state] != state) {
      near[state] = {classes[state], static_cast<std::uint32_t>(bytes)};
    }
    classes[state] = now;
  }
  return first.size();
}

}  // namespace

void find_alike(Program& program, std::size_t bytes) {
  const std::size_t count = program.states.size() - 1;  // one closes the list
  const std::size_t work = count + program.edges.size() + program.calls.size();
  std::vector<StateId> classes(count, 0);
  std::vector<Program::Near> near(count);
  std::size_t known = 0;
  for (std::size_t round = 0; round <= bytes; ++round) {
    if ((round + 1) * work > kWorkMax) {
      for (StateId state = 0; state < count; ++state) {
        if (classes[state] == state) continue;
        near[state] = {classes[state], static_cast<std::uint32_t>(round)};
        classes[state] = state;
      }
      break;
    }
    const std::size_t found = split(program, round, classes, near);
    if (found == known) break;  // nothing more will be told apart
    known = found;
  }
  program.alike = std::move(classes);
  program.near = std::move(near);
}

}  // namespace kantha::grammar
