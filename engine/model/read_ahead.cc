#include "engine/model/read_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kantha::model {

ReadAhead::ReadAhead(const std::vector<Bytes>& order, std::function<void(Bytes)> fetch,
                     ReadAheadOptions options)
    : fetch_(std::move(fetch)), options_(options) {
  std::size_t start = 0;
  for (const Bytes& all : order) {
    for (std::size_t at = 0; at < all.size(); at += options_.piece_bytes) {
      const std::size_t size = std::min(options_.piece_bytes, all.size() - at);
      pieces_.push_back({all.subspan(at, size), start});
      start += size;
    }
  }
  const auto useful = std::min(static_cast<std::size_t>(options_.threads), pieces_.size());
  for (std::size_t i = 0; i < useful; ++i) threads_.emplace_back([this] { work(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::advance(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    taken_ += bytes;
  }
  changed_.notify_all();
}

void ReadAhead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // What was taken meanwhile was read by who took it.
    while (next_ < pieces_.size() && pieces_[next_].start + pieces_[next_].bytes.size() <= taken_) {
      ++next_;
    }
    if (stopping_ || next_ == pieces_.size()) return;
    if (pieces_[next_].start >= taken_ + options_.window_bytes) {
      changed_.wait_for(lock, std::chrono::seconds(1));
      continue;
    }
    const Bytes bytes = pieces_[next_++].bytes;
    lock.unlock();
    fetch_(bytes);
    lock.lock();
  }
}

}  // namespace kantha::model
