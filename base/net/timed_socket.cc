#include "base/net/timed_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kantha::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// After so many reads or writes that did not have to wait, others get a turn.
constexpr int kTurnsInARow = 16;
/// The deadline of the whole wait decides; this only keeps the sum in range.
constexpr Duration kTlsStallTimeout = std::chrono::hours(24);

std::string errno_text(int error) { return std::generic_category().message(error); }

Error closed_here() { return {Code::kCancelled, "connection closed on this side"}; }

short poll_events(int fd, short events) {
  pollfd entry = {.fd = fd, .events = events, .revents = 0};
  return ::poll(&entry, 1, 0) > 0 ? entry.revents : short{0};
}

/// One try to read; the count, or the negative errno. A function of its own, so that the space is
/// on the stack and not in a coroutine's frame: 64 KiB per connection would add up.
int receive_now(int fd, std::string& into) {
  std::array<char, 64u << 10> space;
  const ssize_t count = ::recv(fd, space.data(), space.size(), MSG_DONTWAIT);
  if (count > 0) into.assign(space.data(), static_cast<std::size_t>(count));
  return count < 0 ? -errno : static_cast<int>(count);
}

}  // namespace

TimePoint deadline_after(Duration duration) {
  constexpr Duration kYear = std::chrono::hours(24 * 365);
  return system_clock().now() + std::clamp(duration, Duration::zero(), kYear);
}

/// What pending operations keep alive.
struct TimedSocket::Core {
  Core(const asio::any_io_executor& executor, int fd) : descriptor(executor, fd), timer(executor) {}

  /// False when somebody else deserves a turn first.
  bool may_go_on() { return ++turns_in_a_row % kTurnsInARow != 0; }
  void close() {
    error_code ignored;
    say_end();
    timer.cancel();
    descriptor.close(ignored);
  }
  /// One try to tell a TLS peer that no more comes, lest it takes the end for an attack.
  void say_end() {
    if (!tls || !descriptor.is_open()) return;
    tls->say_end();
    send_now(tls->take_output());
  }
  void send_now(std::string_view bytes) {
    ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  int fd() { return descriptor.native_handle(); }
  /// Whether a read would give plain bytes, an end or a failure now. What TLS sends on its own
  /// account (tickets, new keys) is none of them.
  bool has_plain_bytes(bool may_receive) {
    std::string bytes;
    const int count = may_receive ? receive_now(fd(), bytes) : -EAGAIN;
    if (count == 0) return true;
    if (count < 0 && count != -EAGAIN && count != -EINTR) return true;
    tls->feed(bytes);
    Result<std::optional<std::string>> plain = tls->unseal();
    if (!plain) return true;
    if (!*plain) return false;
    unread = **std::move(plain);
    return true;
  }

  asio::posix::stream_descriptor descriptor;
  asio::steady_timer timer;
  /// Set once the handshake is done.
  std::unique_ptr<TlsSession> tls = {};
  /// Plain bytes that were found when somebody asked whether there are any.
  std::string unread = {};
  std::uint64_t wait_number = 0;
  std::uint64_t bytes_written = 0;
  int turns_in_a_row = 0;
  bool has_timed_out = false;
};

TimedSocket::TimedSocket(asio::any_io_executor executor, int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  // Fails on Unix sockets, which do not delay anyway.
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  core_ = std::make_shared<Core>(executor, fd);
}

TimedSocket& TimedSocket::operator=(TimedSocket&& other) noexcept {
  if (this != &other) {
    if (core_) close();
    core_ = std::move(other.core_);
  }
  return *this;
}

TimedSocket::~TimedSocket() {
  if (core_) close();
}

Task<TimedSocket::WaitEnd> TimedSocket::wait(std::shared_ptr<Core> core, Side side,
                                             TimePoint deadline) {
  const auto direction = side == Side::kRead ? asio::posix::descriptor_base::wait_read
                                             : asio::posix::descriptor_base::wait_write;
  while (core->descriptor.is_open()) {
    if (deadline <= system_clock().now()) co_return WaitEnd::kTimeout;
    core->has_timed_out = false;
    const std::uint64_t number = ++core->wait_number;
    core->timer.expires_at(deadline);
    // The number tells a timer that fired for an earlier wait, whose call is still queued.
    core->timer.async_wait([core, number](const error_code& ec) {
      if (ec || core->wait_number != number || !core->descriptor.is_open()) return;
      core->has_timed_out = true;
      error_code ignored;
      core->descriptor.cancel(ignored);
    });
    error_code ec;
    co_await core->descriptor.async_wait(direction, asio::redirect_error(asio::use_awaitable, ec));
    ++core->wait_number;
    core->timer.cancel();
    core->turns_in_a_row = 0;
    if (!core->descriptor.is_open()) break;
    if (ec != asio::error::operation_aborted) co_return WaitEnd::kReady;
    if (core->has_timed_out) co_return WaitEnd::kTimeout;
  }
  co_return WaitEnd::kClosed;
}

Task<Status> TimedSocket::connect_on(std::shared_ptr<Core> core, TimePoint deadline) {
  const WaitEnd end = co_await wait(core, Side::kWrite, deadline);
  if (end == WaitEnd::kClosed) co_return closed_here();
  if (end == WaitEnd::kTimeout) co_return Error{Code::kDeadlineExceeded, "connect timed out"};
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(core->fd(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0) co_return unavailable("connect: " + errno_text(failure));
  co_return ok_status();
}

Task<Result<std::string>> TimedSocket::read_from(std::shared_ptr<Core> core, TimePoint deadline) {
  while (core->descriptor.is_open()) {
    if (core->may_go_on()) {
      std::string bytes;
      const int count = receive_now(core->fd(), bytes);
      if (count >= 0) co_return bytes;
      if (count == -EINTR) continue;
      if (count != -EAGAIN) co_return unavailable("connection failed: " + errno_text(-count));
    }
    const WaitEnd end = co_await wait(core, Side::kRead, deadline);
    if (end == WaitEnd::kTimeout) {
      co_return Error{Code::kDeadlineExceeded, "the peer sent nothing in time"};
    }
  }
  co_return closed_here();
}

Task<Status> TimedSocket::write_to(std::shared_ptr<Core> core, std::string bytes,
                                   Duration stall_timeout, TimePoint deadline) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    if (!core->descriptor.is_open()) co_return closed_here();
    if (core->may_go_on()) {
      const ssize_t count =
          ::send(core->fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      const int failure = count < 0 ? errno : 0;
      if (count > 0) {
        sent += static_cast<std::size_t>(count);
        core->bytes_written += static_cast<std::size_t>(count);
      }
      if (count >= 0 || failure == EINTR) continue;
      if (failure != EAGAIN) co_return unavailable("connection failed: " + errno_text(failure));
    }
    const TimePoint stalled_at = std::min(deadline_after(stall_timeout), deadline);
    const WaitEnd end = co_await wait(core, Side::kWrite, stalled_at);
    if (end == WaitEnd::kTimeout) {
      co_return Error{Code::kDeadlineExceeded, "the peer read nothing in time"};
    }
  }
  co_return ok_status();
}

Task<Status> TimedSocket::finish_connect(TimePoint deadline) { return connect_on(core_, deadline); }

std::optional<std::string> TimedSocket::verified_peer() const {
  return core_->tls ? core_->tls->verified_peer() : std::nullopt;
}

Task<Status> TimedSocket::flush_tls(std::shared_ptr<Core> core, TimePoint deadline) {
  std::string bytes = core->tls->take_output();
  return write_to(std::move(core), std::move(bytes), kTlsStallTimeout, deadline);
}

Task<Status> TimedSocket::shake_hands(std::shared_ptr<Core> core,
                                      std::unique_ptr<TlsSession> session, TimePoint deadline) {
  core->tls = std::move(session);
  while (true) {
    const Result<bool> done = core->tls->shake();
    const Status sent = co_await flush_tls(core, deadline);
    if (!done) co_return done.error();
    if (!sent) co_return sent;
    if (*done) co_return ok_status();
    CO_TRY(const std::string bytes, co_await read_from(core, deadline));
    if (bytes.empty()) co_return unavailable("TLS: the peer closed in the handshake");
    core->tls->feed(bytes);
  }
}

Task<Result<std::string>> TimedSocket::unseal_from(std::shared_ptr<Core> core, TimePoint deadline) {
  if (!core->unread.empty()) co_return std::exchange(core->unread, {});
  while (true) {
    Result<std::optional<std::string>> plain = core->tls->unseal();
    if (!plain) co_return std::move(plain).error();
    if (*plain) co_return **std::move(plain);
    // A peer that changes its keys wants an answer.
    CO_TRY_OK(co_await flush_tls(core, deadline));
    CO_TRY(const std::string bytes, co_await read_from(core, deadline));
    if (bytes.empty()) co_return unavailable("TLS: the connection was cut");
    core->tls->feed(bytes);
  }
}

Task<Status> TimedSocket::start_tls(std::unique_ptr<TlsSession> session, TimePoint deadline) {
  return shake_hands(core_, std::move(session), deadline);
}

Task<Result<std::string>> TimedSocket::read_some(TimePoint deadline) {
  return core_->tls ? unseal_from(core_, deadline) : read_from(core_, deadline);
}

Task<Status> TimedSocket::write_all(std::string bytes, Duration stall_timeout, TimePoint deadline) {
  if (core_->tls) {
    // A failure shows at the next read, with its reason.
    (void)core_->tls->seal(bytes);
    bytes = core_->tls->take_output();
  }
  return write_to(core_, std::move(bytes), stall_timeout, deadline);
}

void TimedSocket::write_now(std::string_view bytes) {
  if (!is_open()) return;
  if (!core_->tls) return core_->send_now(bytes);
  (void)core_->tls->seal(bytes);
  core_->send_now(core_->tls->take_output());
}

std::uint64_t TimedSocket::bytes_written() const { return core_->bytes_written; }

bool TimedSocket::peer_closed() const {
  if (!is_open()) return true;
  return (poll_events(core_->fd(), POLLRDHUP) & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

bool TimedSocket::readable() const {
  if (!is_open()) return false;
  if (!core_->unread.empty()) return true;
  const bool has_bytes = poll_events(core_->fd(), POLLIN | POLLRDHUP) != 0;
  return core_->tls ? core_->has_plain_bytes(has_bytes) : has_bytes;
}

void TimedSocket::when_readable(std::function<void()> callback) {
  if (!is_open()) return;
  core_->descriptor.async_wait(
      asio::posix::descriptor_base::wait_read,
      [core = core_, callback = std::move(callback)](const error_code& ec) {
        // Aborted by a deadline of the other direction, or closed: the owner knows either.
        if (!ec && core->descriptor.is_open()) callback();
      });
}

void TimedSocket::shutdown_send() {
  if (!is_open()) return;
  core_->say_end();
  ::shutdown(core_->fd(), SHUT_WR);
}

void TimedSocket::close() { core_->close(); }

std::function<void()> TimedSocket::closer() const {
  return [weak = std::weak_ptr(core_)] {
    if (const auto core = weak.lock()) core->close();
  };
}

void TimedSocket::reset() {
  if (!is_open()) return;
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(core_->fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

bool TimedSocket::is_open() const { return core_ && core_->descriptor.is_open(); }

}  // namespace kantha::net
