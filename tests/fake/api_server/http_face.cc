#include "tests/fake/api_server/http_face.h"

#include <algorithm>

#include "tests/fake/api_server/partial_metadata.h"

namespace kantha::fake {

HttpFace::HttpFace(boost::asio::any_io_executor executor, FakeApiServer& server)
    : http_(std::make_unique<net::HttpServer>(
          std::move(executor), [&server](net::HttpRequest request, net::ResponseWriter& writer) {
            return handle(server, std::move(request), writer);
          })) {}

Result<net::Endpoint> HttpFace::listen(const net::Endpoint& endpoint) {
  return http_->listen(endpoint);
}

net::Task<void> HttpFace::handle(FakeApiServer& server, net::HttpRequest request,
                                 net::ResponseWriter& writer) {
  Answer answer = server.answer(request);
  if (answer.watch == nullptr) {
    keep_metadata(request, answer.response);
    [[maybe_unused]] const Status sent = co_await writer.send(std::move(answer.response));
    co_return;
  }
  const Status started = co_await writer.start(200, answer.response.headers);
  if (!started.ok()) co_return;
  bool is_gone = false;
  writer.on_client_gone([&server, &is_gone] {
    is_gone = true;
    server.changed().notify();
  });
  WatchCursor& watch = *answer.watch;
  while (!is_gone) {
    std::string text = watch.take();
    if (!text.empty()) {
      const Status written = co_await writer.write(std::move(text));
      if (!written.ok()) co_return;
      continue;
    }
    if (watch.is_over()) break;
    const Duration wait = watch.next_time() - server.store().clock().now();
    co_await server.changed().wait(std::max(wait, Duration(1'000'000)));
  }
  if (is_gone) co_return;
  [[maybe_unused]] const Status finished = co_await writer.finish();
}

}  // namespace kantha::fake
