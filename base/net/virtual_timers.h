#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"

/// The deadlines of one context's virtual time; found by the timers through the context. One
/// thread.
namespace kantha::net {

class VirtualTimers final : public boost::asio::execution_context::service {
 public:
  using key_type = VirtualTimers;
  static boost::asio::execution_context::id id;

  explicit VirtualTimers(boost::asio::execution_context& owner)
      : boost::asio::execution_context::service(owner) {}

  /// Whether a VirtualTime stands over this context now.
  bool is_active() const { return clock_ != nullptr; }
  void set_clock(const FakeClock* clock) { clock_ = clock; }
  /// `timer` is cancelled when virtual time reaches now + span; until then it must live.
  std::uint64_t add(Duration span, boost::asio::steady_timer& timer);
  void remove(std::uint64_t timer_id);
  std::optional<TimePoint> next_deadline() const;
  /// Cancels the timers that are due, in the order of deadline and setting.
  void fire(TimePoint now);

 private:
  void shutdown() override {}

  const FakeClock* clock_ = nullptr;
  std::uint64_t last_id_ = 0;
  std::map<std::pair<TimePoint, std::uint64_t>, boost::asio::steady_timer*> due_;
  std::unordered_map<std::uint64_t, TimePoint> deadlines_;
};

}  // namespace kantha::net
