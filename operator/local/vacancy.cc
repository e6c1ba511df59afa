#include "operator/local/vacancy.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/net/message_head.h"

namespace kantha::local {
namespace {

constexpr Duration kFinishWithin = std::chrono::seconds(1);

net::HttpResponse no_pod(const std::string& world) {
  return net::error_answer(503, "no pod: \"" + world + "\" is scaled to 0; to start one: " +
                                    "kantha scale " + world + " --replicas 1");
}

net::Task<void> refuse(std::string world, net::ResponseWriter& writer) {
  net::HttpResponse response = no_pod(world);
  const Status sent = co_await writer.send(std::move(response));
  if (!sent.ok()) log_debug("refusal not sent", {{"error", sent.error().message}});
}

net::Task<void> finish(std::shared_ptr<net::HttpServer> server) {
  co_await server->drain(kFinishWithin);
}

}  // namespace

Status Vacancy::open(int listen_fd, const std::string& world) {
  if (server_) return ok_status();
  const int fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return internal_error(std::string("public socket: ") + std::strerror(errno));
  auto server = std::make_shared<net::HttpServer>(
      executor_, [world](const net::HttpRequest&, net::ResponseWriter& writer) {
        return refuse(world, writer);
      });
  TRY(const net::Endpoint endpoint, server->adopt(fd));
  log_debug("answering for no pod", {{"endpoint", endpoint.to_string()}});
  server_ = std::move(server);
  return ok_status();
}

void Vacancy::close() {
  if (server_) tasks_.spawn(finish(std::exchange(server_, nullptr)));
}

}  // namespace kantha::local
