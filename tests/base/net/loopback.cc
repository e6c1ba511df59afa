#include "tests/base/net/loopback.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>

#include "base/check.h"
#include "base/clock.h"
#include "base/net/listener.h"
#include "base/net/socket_address.h"

namespace kantha::net {

bool eventually(const std::function<bool()>& condition) {
  const TimePoint end = system_clock().now() + std::chrono::milliseconds(kPatienceMs);
  while (!condition()) {
    if (system_clock().now() > end) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kantha_net_XXXXXX").string();
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

LoopbackServer::LoopbackServer(HttpHandler handler, HttpLimits limits, Endpoint listen_on)
    : guard_(boost::asio::make_work_guard(io_)),
      server_(std::make_unique<HttpServer>(io_.get_executor(), std::move(handler), limits)) {
  Result<Endpoint> real = server_->listen(listen_on);
  CHECK(real.ok());
  endpoint_ = *real;
  thread_ = std::thread([this] { io_.run(); });
}

LoopbackServer::~LoopbackServer() {
  on_loop([this] { server_.reset(); });
  guard_.reset();
  thread_.join();
}

std::size_t LoopbackServer::open_connections() {
  return on_loop([this] { return server_->open_connections(); });
}

std::size_t LoopbackServer::active_requests() {
  return on_loop([this] { return server_->active_requests(); });
}

namespace {

void set_patience(int fd) {
  const timeval patience = {.tv_sec = kPatienceMs / 1000, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

}  // namespace

RawPeer::RawPeer(const Endpoint& endpoint) {
  const Result<SocketAddress> address = socket_address(endpoint);
  CHECK(address.ok());
  fd_ = ::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd_ >= 0);
  set_patience(fd_);
  CHECK(::connect(fd_, address->data(), address->length) == 0);
}

RawPeer::RawPeer(int fd) : fd_(fd) { set_patience(fd); }
RawPeer::~RawPeer() { close(); }

bool RawPeer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool RawPeer::read_more() {
  std::array<char, 16384> space;
  const ssize_t count = ::recv(fd_, space.data(), space.size(), 0);
  if (count <= 0) return false;
  buffer_.append(space.data(), static_cast<std::size_t>(count));
  return true;
}

std::string RawPeer::read_until(std::string_view end) {
  std::size_t found = 0;
  while ((found = buffer_.find(end)) == buffer_.npos) {
    if (!read_more()) return std::exchange(buffer_, {});
  }
  std::string text = buffer_.substr(0, found + end.size());
  buffer_.erase(0, text.size());
  return text;
}

std::string RawPeer::read_to_end() {
  while (read_more()) {
  }
  return std::exchange(buffer_, {});
}

std::string RawPeer::read_answer() {
  std::string answer = read_until("\r\n\r\n");
  const std::size_t field = answer.find("Content-Length: ");
  if (field == answer.npos) return answer;
  std::size_t length = 0;
  std::from_chars(answer.data() + field + 16, answer.data() + answer.size(), length);
  while (buffer_.size() < length && read_more()) {
  }
  answer += buffer_.substr(0, length);
  buffer_.erase(0, length);
  return answer;
}

bool RawPeer::sees_end() {
  std::array<char, 16384> space;
  ssize_t count = 0;
  while ((count = ::recv(fd_, space.data(), space.size(), 0)) > 0) {
  }
  return count == 0 || errno == ECONNRESET;
}

void RawPeer::shutdown_send() { ::shutdown(fd_, SHUT_WR); }

void RawPeer::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

ScriptedServer::ScriptedServer(std::function<void(RawPeer&, int)> script) {
  const auto made = open_listener({.host = "127.0.0.1"});
  CHECK(made.ok());
  listen_fd_ = made->first;
  endpoint_ = made->second;
  thread_ = std::thread([this, script = std::move(script)] {
    pollfd entry = {.fd = listen_fd_, .events = POLLIN, .revents = 0};
    while (::poll(&entry, 1, -1) > 0) {
      const int fd = ::accept(listen_fd_, nullptr, nullptr);
      if (fd < 0) {
        if (errno == EAGAIN) continue;
        return;
      }
      RawPeer peer(fd);
      script(peer, count_++);
    }
  });
}

ScriptedServer::~ScriptedServer() {
  // Makes accept fail in the thread.
  ::shutdown(listen_fd_, SHUT_RDWR);
  thread_.join();
  ::close(listen_fd_);
}

}  // namespace kantha::net
