#include "base/net/client_watch.h"

#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace kantha::net {
namespace asio = boost::asio;

namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(50);

}  // namespace

struct ClientWatch::Body {
  asio::steady_timer timer;
  /// Null once the session has ended.
  TimedSocket* socket = nullptr;
  std::function<void()> on_gone = {};
  /// A wait on the socket or the timer is pending. It is not cancelled between requests: the next
  /// request finds it still there, which spares a system call for each.
  bool is_armed = false;
};

ClientWatch::ClientWatch(asio::any_io_executor executor, TimedSocket& socket)
    : body_(std::make_shared<Body>(asio::steady_timer(executor), &socket)) {}

ClientWatch::~ClientWatch() {
  body_->socket = nullptr;
  body_->on_gone = nullptr;
  body_->timer.cancel();
}

void ClientWatch::start(std::function<void()> on_gone) {
  body_->on_gone = std::move(on_gone);
  if (!body_->is_armed) arm(body_);
}

void ClientWatch::stop() { body_->on_gone = nullptr; }

void ClientWatch::arm(const std::shared_ptr<Body>& body) {
  body->is_armed = true;
  body->socket->when_readable([body] { look(body); });
}

void ClientWatch::look(const std::shared_ptr<Body>& body) {
  body->is_armed = false;
  if (body->socket == nullptr || !body->on_gone) return;
  if (body->socket->peer_closed()) {
    const auto on_gone = std::exchange(body->on_gone, nullptr);
    on_gone();
    return;
  }
  if (!body->socket->readable()) return arm(body);
  body->is_armed = true;
  body->timer.expires_after(kLookAgain);
  body->timer.async_wait([body](const boost::system::error_code& ec) {
    if (!ec) look(body);
  });
}

}  // namespace kantha::net
