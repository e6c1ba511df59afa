#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include "base/net/task.h"

#include "base/clock.h"
#include "base/net/tls_session.h"
#include "base/result.h"

/// A connected stream socket (TCP or Unix) whose every wait has a deadline. Executor's thread only.
///
/// Reads and writes are tried at once with the plain system calls; only when the kernel says
/// "not now" does the coroutine wait on the reactor. So a short answer costs one send call, and no
/// connection owns a read buffer while it idles. With TLS, plain bytes go in and out as without it.
namespace kantha::net {

/// now + duration without overflow; durations beyond a year count as one.
TimePoint deadline_after(Duration duration);

class TimedSocket {
 public:
  /// Owns `fd` (not -1), which becomes non-blocking and, for TCP, TCP_NODELAY.
  TimedSocket(boost::asio::any_io_executor executor, int fd);
  TimedSocket(TimedSocket&&) noexcept = default;
  TimedSocket& operator=(TimedSocket&&) noexcept;
  ~TimedSocket();

  /// Waits until a connect that was begun has succeeded. kUnavailable, kDeadlineExceeded.
  Task<Status> finish_connect(TimePoint deadline);
  /// Makes the connection a TLS one. kUnavailable says why the peer, or we, refused;
  /// kDeadlineExceeded; kCancelled. After a failure the connection is of no use.
  Task<Status> start_tls(std::unique_ptr<TlsSession> session, TimePoint deadline);
  /// TlsSession::verified_peer; nullopt without TLS.
  std::optional<std::string> verified_peer() const;
  /// 1 to 64 KiB as they arrive; an empty string when the peer closed its side.
  /// kDeadlineExceeded (nothing is lost, it may be called again), kUnavailable (connection reset,
  /// or a TLS peer that went without saying so), kCancelled (closed on our side).
  Task<Result<std::string>> read_some(TimePoint deadline);
  /// Everything, or an error: kDeadlineExceeded when no byte was taken for `stall_timeout` or
  /// `deadline` passed, kUnavailable, kCancelled.
  Task<Status> write_all(std::string bytes, Duration stall_timeout,
                         TimePoint deadline = TimePoint::max());
  /// One try to send without waiting; whatever does not fit is lost. For last words.
  void write_now(std::string_view bytes);

  /// Bytes that the kernel took so far.
  std::uint64_t bytes_written() const;
  /// The peer has closed its sending side, or the connection failed. Also true while bytes wait to
  /// be read.
  bool peer_closed() const;
  /// Bytes, an end or an error are there to be read.
  bool readable() const;

  /// Calls `callback` once, when the socket becomes readable; never after close. At most one.
  void when_readable(std::function<void()> callback);

  /// Sends FIN; reading goes on.
  void shutdown_send();
  /// Ends pending calls with kCancelled. Data already taken by the kernel is still delivered.
  void close();
  /// A way to close the socket that may outlive it, wherever it is moved to.
  std::function<void()> closer() const;
  /// close, but the peer sees a reset instead of an orderly end.
  void reset();
  bool is_open() const;

 private:
  struct Core;
  enum class WaitEnd : unsigned char { kReady, kTimeout, kClosed };
  enum class Side : unsigned char { kRead, kWrite };
  static Task<WaitEnd> wait(std::shared_ptr<Core> core, Side side, TimePoint deadline);
  static Task<Result<std::string>> read_from(std::shared_ptr<Core> core, TimePoint deadline);
  static Task<Status> write_to(std::shared_ptr<Core> core, std::string bytes,
                               Duration stall_timeout, TimePoint deadline);
  static Task<Status> connect_on(std::shared_ptr<Core> core, TimePoint deadline);
  static Task<Status> shake_hands(std::shared_ptr<Core> core, std::unique_ptr<TlsSession> session,
                                  TimePoint deadline);
  static Task<Result<std::string>> unseal_from(std::shared_ptr<Core> core, TimePoint deadline);
  /// Sends what TLS wants the peer to have.
  static Task<Status> flush_tls(std::shared_ptr<Core> core, TimePoint deadline);

  std::shared_ptr<Core> core_;
};

}  // namespace kantha::net
