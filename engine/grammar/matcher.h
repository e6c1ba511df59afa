#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/grammar/frame_pool.h"
#include "engine/grammar/program.h"

namespace kantha::grammar {

/// All places at which an answer may be after some bytes.
struct Level {
  std::vector<Item> items = {};          ///< from each of which a byte can go on
  bool complete = false;                 ///< the whole answer may be over
  bool exits = false;                    ///< a rule with an unknown caller may be over
  FramePool::Mark end = {};              ///< of the frames that its items use
  std::array<std::uint64_t, 4> bytes{};  ///< that may follow; by open_level

  bool alive() const { return !items.empty() || complete; }
};

/// Runs a program over bytes, all readings at once, and finds the tokens that may come next by
/// running it over the lexicon's tree. What holds of a rule whoever called it is remembered in the
/// program's mask table; only what goes beyond the end of a rule is looked at every time. One
/// thread.
class Matcher {
 public:
  /// Readings at one place, and steps for one mask; beyond these the grammar is too ambiguous.
  static constexpr std::size_t kItemsMax = 2048;
  static constexpr std::size_t kStepsMax = 20'000'000;

  explicit Matcher(const Program& program);

  bool accept(std::string_view bytes);
  bool is_complete() const { return now_.complete; }
  bool is_finished() const { return now_.complete && now_.items.empty(); }
  bool is_overrun() const { return overrun_; }
  void fill_mask(std::span<std::uint64_t> mask);
  /// Makes the local mask of a state ahead of its use; the steps that it took.
  std::size_t prepare(StateId state);

 private:
  void begin_level(Level& level);
  void add(Level& level, Item item);
  /// Follows calls and ends until nothing is new.
  void close(Level& level);
  void call(Level& level, const Program::Call& call, FrameId frame);
  void finish_rule(Level& level, FrameId frame);
  bool step_simply(const Level& from, unsigned char byte, Level& to);
  void step(const Level& from, unsigned char byte, Level& to);
  void open_level(Level& level);
  Level& level_at(std::size_t depth);
  /// Visits the nodes below `root` that the first level, which is open, can reach: visit(node,
  /// level). Where no token has more than `known` bytes it does not look.
  template <class Visit>
  void walk(std::uint32_t root, std::size_t known, Visit visit);
  const LocalMask& mask_of(StateId any);
  std::unique_ptr<LocalMask> make_mask(StateId state);
  void walk_all(StateId state, std::size_t known, LocalMask& mask);
  void add_exits(FrameId frame, std::span<const std::uint32_t> exits,
                 std::span<std::uint64_t> mask);

  const Program& program_;
  FramePool frames_;
  Level now_;
  Level next_;
  bool overrun_ = false;
  std::size_t steps_ = 0;
  std::size_t collect_at_ = 8192;

  std::vector<std::pair<StateId, FrameId>> opened_;  // rules that were called in this step
  std::unordered_set<std::uint64_t> seen_;           // items of a large level
  std::vector<Level> levels_;
  std::vector<std::uint32_t> ends_;
  std::unique_ptr<LocalMask> unkept_;
};

}  // namespace kantha::grammar
