#include "tests/base/net/tls_peer.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/check.h"
#include "base/net/ascii.h"

namespace kantha::net {

std::string field_of(std::string_view message, std::string_view name) {
  std::string_view head = message.substr(0, message.find("\r\n\r\n"));
  while (head.find("\r\n") != head.npos) {
    head.remove_prefix(head.find("\r\n") + 2);
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !equals_ignoring_case(line.substr(0, colon), name)) continue;
    const std::size_t start = line.find_first_not_of(' ', colon + 1);
    return start == line.npos ? std::string() : std::string(line.substr(start));
  }
  return {};
}

TlsPeer::TlsPeer(RawPeer& raw, const TlsContext& context)
    : raw_(raw), session_(context.new_session({})) {
  while (true) {
    const Result<bool> done = session_->shake();
    raw_.send(session_->take_output());
    if (!done) return;
    is_up_ = *done;
    if (is_up_ || !receive()) return;
  }
}

bool TlsPeer::receive() {
  std::array<char, 16384> space;
  const ssize_t count = ::recv(raw_.fd(), space.data(), space.size(), 0);
  if (count <= 0) return false;
  session_->feed({space.data(), static_cast<std::size_t>(count)});
  return true;
}

bool TlsPeer::send(std::string_view plain) {
  return session_->seal(plain).ok() && raw_.send(session_->take_output());
}

std::string TlsPeer::read_until(std::string_view end) {
  std::size_t found = 0;
  while ((found = buffer_.find(end)) == buffer_.npos) {
    const auto plain = session_->unseal();
    if (!plain || (*plain && (*plain)->empty())) return std::exchange(buffer_, {});
    if (*plain) {
      buffer_ += **plain;
    } else if (!receive()) {
      return std::exchange(buffer_, {});
    }
  }
  std::string text = buffer_.substr(0, found + end.size());
  buffer_.erase(0, text.size());
  return text;
}

std::string TlsPeer::read_request() {
  std::string request = read_until("\r\n\r\n");
  const std::string field = field_of(request, "Content-Length");
  std::size_t length = 0;
  std::from_chars(field.data(), field.data() + field.size(), length);
  while (buffer_.size() < length) {
    const std::size_t before = buffer_.size();
    const auto plain = session_->unseal();
    if (plain && *plain && !(*plain)->empty()) buffer_ += **plain;
    if (buffer_.size() == before && !receive()) break;
  }
  request += buffer_.substr(0, length);
  buffer_.erase(0, length);
  return request;
}

void TlsPeer::end() {
  session_->say_end();
  raw_.send(session_->take_output());
  raw_.close();
}

bool TlsPeer::sees_end() { return raw_.sees_end(); }

ScriptedTlsServer::ScriptedTlsServer(const TlsServerSettings& settings, Script script)
    : script_(std::move(script)) {
  use(settings);
  const auto made = open_listener({.host = "127.0.0.1"});
  CHECK(made.ok());
  listen_fd_ = made->first;
  endpoint_ = made->second;
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedTlsServer::~ScriptedTlsServer() {
  // Makes accept fail in the thread.
  ::shutdown(listen_fd_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& each : threads_) each.join();
  ::close(listen_fd_);
}

void ScriptedTlsServer::use(const TlsServerSettings& settings) {
  auto context = TlsContext::for_server(settings);
  CHECK(context.ok(), "the test's certificates are good");
  const std::scoped_lock lock(mutex_);
  context_ = *context;
}

void ScriptedTlsServer::accept_all() {
  pollfd entry = {.fd = listen_fd_, .events = POLLIN, .revents = 0};
  while (::poll(&entry, 1, -1) > 0) {
    const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EAGAIN) continue;
      return;
    }
    threads_.emplace_back([this, fd, number = count_++] { serve(fd, number); });
  }
}

void ScriptedTlsServer::serve(int fd, int number) {
  RawPeer raw(fd);
  std::shared_ptr<const TlsContext> context;
  {
    const std::scoped_lock lock(mutex_);
    context = context_;
  }
  TlsPeer peer(raw, *context);
  if (peer.is_up()) script_(peer, number);
}

}  // namespace kantha::net
