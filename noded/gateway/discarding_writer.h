#pragma once

#include "base/net/http_server.h"

namespace kantha::noded {

/// The writer of a request that no client sent: takes every answer and keeps nothing of it.
class DiscardingWriter final : public net::ResponseWriter {
 public:
  net::Task<Status> send(net::HttpResponse response) override {
    status_ = response.status;
    started_ = true;
    co_return ok_status();
  }
  net::Task<Status> start(int status, net::Headers) override {
    status_ = status;
    started_ = true;
    co_return ok_status();
  }
  net::Task<Status> write(std::string) override { co_return ok_status(); }
  net::Task<Status> finish() override { co_return ok_status(); }
  void abort() override {}
  bool started() const override { return started_; }
  bool client_gone() const override { return false; }
  void on_client_gone(std::function<void()>) override {}
  /// Of the answer; 0: none came.
  int status() const { return status_; }

 private:
  int status_ = 0;
  bool started_ = false;
};

}  // namespace kantha::noded
