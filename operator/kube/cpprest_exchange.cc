#include "operator/kube/cpprest_exchange.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "base/net/timed_socket.h"

namespace kantha::kube {
namespace {

Error cancelled() { return {Code::kCancelled, "the exchange was cancelled"}; }

}  // namespace

void ExecutorGate::post(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  if (executor_) boost::asio::post(*executor_, std::move(work));
}

void ExecutorGate::shut() {
  const std::scoped_lock lock(mutex_);
  executor_.reset();
}

void CpprestExchange::tell() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(is_told_, true)) return;
  }
  gate_->post([self = shared_from_this()] {
    {
      const std::scoped_lock lock(self->mutex_);
      self->is_told_ = false;
    }
    self->changed_.notify();
  });
}

void CpprestExchange::on_head(int status, net::Headers headers) {
  {
    const std::scoped_lock lock(mutex_);
    status_ = status;
    headers_ = std::move(headers);
    has_head_ = true;
  }
  if (wakes_ == CpprestWakes::kEachPart) tell();
}

void CpprestExchange::on_piece(std::string bytes, std::function<void()> go_on) {
  bool is_full = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!is_cancelled_) {
      buffered_ += bytes;
      is_full = buffered_.size() > kBufferedBytesMax;
      if (is_full) go_on_ = std::exchange(go_on, nullptr);
    }
  }
  if (go_on) go_on();
  if (is_full || wakes_ == CpprestWakes::kEachPart) tell();
}

void CpprestExchange::on_end() {
  {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
  }
  tell();
}

void CpprestExchange::on_failure(bool was_taken, std::string message) {
  {
    const std::scoped_lock lock(mutex_);
    failure_ = was_taken ? data_loss(std::move(message)) : unavailable(std::move(message));
  }
  tell();
}

void CpprestExchange::cancel() {
  std::function<void()> go_on;
  bool is_over = false;
  {
    const std::scoped_lock lock(mutex_);
    is_cancelled_ = true;
    is_over = has_ended_ || failure_;
    // Held here it would keep the SDK's side, which holds us, for ever.
    go_on = std::exchange(go_on_, nullptr);
  }
  if (!is_over && stop_) stop_();
  if (go_on) go_on();
  changed_.notify();
}

std::optional<Status> CpprestExchange::head_now() {
  const std::scoped_lock lock(mutex_);
  if (is_cancelled_) return Status(cancelled());
  if (has_head_) return ok_status();
  if (failure_) return Status(*failure_);
  return std::nullopt;
}

std::optional<Result<std::string>> CpprestExchange::piece_now() {
  std::string bytes;
  std::function<void()> go_on;
  {
    const std::scoped_lock lock(mutex_);
    if (is_cancelled_) return Result<std::string>(cancelled());
    bytes = std::exchange(buffered_, {});
    go_on = std::exchange(go_on_, nullptr);
    if (bytes.empty() && failure_) return Result<std::string>(data_loss(failure_->message));
    if (bytes.empty() && !has_ended_) return std::nullopt;
  }
  if (go_on) go_on();
  return Result<std::string>(std::move(bytes));
}

net::Task<Status> CpprestExchange::begin(std::shared_ptr<CpprestExchange> self,
                                         std::shared_ptr<CpprestLink> link,
                                         net::HttpRequest request, Duration timeout) {
  const TimePoint deadline = net::deadline_after(timeout);
  self->stop_ = link->begin(request, self);
  while (true) {
    if (auto head = self->head_now()) co_return *std::move(head);
    const Duration left = deadline - system_clock().now();
    if (left <= Duration::zero()) {
      self->cancel();
      co_return Error{Code::kDeadlineExceeded, "no answer in time"};
    }
    co_await self->changed_.wait(left);
  }
}

net::Task<Result<std::string>> CpprestExchange::read(std::shared_ptr<CpprestExchange> self,
                                                     Duration idle_timeout) {
  const TimePoint deadline = net::deadline_after(idle_timeout);
  while (true) {
    if (auto piece = self->piece_now()) co_return *std::move(piece);
    const Duration left = deadline - system_clock().now();
    if (left <= Duration::zero()) {
      co_return Error{Code::kDeadlineExceeded, "the server sent nothing in time"};
    }
    co_await self->changed_.wait(left);
  }
}

}  // namespace kantha::kube
