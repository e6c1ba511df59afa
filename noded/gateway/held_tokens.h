#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace kantha::noded {

/// Prompt tokens, by estimate, of the requests that wait at the door because no engine takes them
/// yet: a swap under load must not gather more than the engine may ever queue. One thread.
class HeldTokens {
  struct Count {
    double tokens = 0;
  };

 public:
  /// One request's part; gives it back at its end, unless clear() has done so.
  class Share {
   public:
    Share(std::shared_ptr<Count> count, double tokens) : count_(std::move(count)), tokens_(tokens) {
      count_->tokens += tokens_;
    }
    ~Share() { count_->tokens -= tokens_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    std::shared_ptr<Count> count_;
    double tokens_;
  };

  /// `max`: 0 is no bound.
  explicit HeldTokens(std::int64_t max) : max_(max), count_(std::make_shared<Count>()) {}

  /// Nobody waits now: whoever did is with an engine.
  void clear() { count_ = std::make_shared<Count>(); }
  /// nullptr when there is no room; a request that is alone always has some.
  std::unique_ptr<Share> take(double tokens) {
    const bool full =
        max_ > 0 && count_->tokens > 0 && count_->tokens + tokens > static_cast<double>(max_);
    return full ? nullptr : std::make_unique<Share>(count_, tokens);
  }
  double held() const { return count_->tokens; }
  std::int64_t max() const { return max_; }
  void set_max(std::int64_t max) { max_ = max; }

 private:
  std::int64_t max_;
  std::shared_ptr<Count> count_;
};

}  // namespace kantha::noded
