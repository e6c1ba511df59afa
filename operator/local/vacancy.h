#pragma once

#include <memory>
#include <string>

#include "base/net/http_server.h"
#include "base/net/task_group.h"

/// What clients hear while a world is scaled to zero. One executor.
namespace kantha::local {

/// Answers every request on the public socket with 503 and an OpenAI error object, so that nobody
/// waits in the kernel's queue for pods that nobody wants. While pods are wanted it is closed: then
/// a connection waits for the next noded.
class Vacancy {
 public:
  Vacancy(boost::asio::any_io_executor executor, net::TaskGroup& tasks)
      : executor_(std::move(executor)), tasks_(tasks) {}

  /// Begins to accept from (a copy of) the listening socket; nothing when it already does.
  /// kInternal: no descriptor is left.
  Status open(int listen_fd, const std::string& world);
  /// Stops accepting at once; answers that are under way are finished.
  void close();

 private:
  boost::asio::any_io_executor executor_;
  net::TaskGroup& tasks_;
  std::shared_ptr<net::HttpServer> server_;
};

}  // namespace kantha::local
