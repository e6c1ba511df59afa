#include "operator/kube/server_session.h"

#include <string>

namespace kantha::kube {

Result<ServerSession> ServerSession::begin(const Clock& clock, const ClusterConfig& config) {
  TRY(ServerUrl url, parse_server_url(config.server));
  TRY(Credentials credentials, Credentials::load(config, clock.now()));
  return ServerSession(clock, std::move(url), std::move(credentials));
}

bool ServerSession::refresh() {
  const bool has_changed = credentials_.refresh(clock_->now());
  return std::exchange(is_fresh_, false) || has_changed;
}

net::HttpRequest ServerSession::complete(net::HttpRequest request) const {
  request.target = url_.path + request.target;
  if (!credentials_.authorization().empty()) {
    request.headers.set("Authorization", credentials_.authorization());
  }
  return request;
}

void ServerSession::judge(const Result<std::unique_ptr<net::ResponseStream>>& opened) {
  // Without an answer, too: maybe the server was given a new certificate, or wants one of us.
  if (!opened || opened.value()->status() == 401) credentials_.suspect();
}

net::Task<Result<net::HttpResponse>> read_whole(std::unique_ptr<net::ResponseStream> stream,
                                                const Clock& clock, TimePoint deadline,
                                                std::size_t body_bytes_max) {
  net::HttpResponse response = {.status = stream->status(), .headers = stream->headers()};
  while (true) {
    const Result<std::string> piece = co_await stream->read(deadline - clock.now());
    if (!piece) co_return piece.error();
    if (piece->empty()) co_return response;
    if (piece->size() > body_bytes_max - response.body.size()) {
      co_return Error{Code::kOutOfRange, "the answer's body is over the limit of " +
                                             std::to_string(body_bytes_max) + " bytes"};
    }
    response.body += *piece;
  }
}

}  // namespace kantha::kube
