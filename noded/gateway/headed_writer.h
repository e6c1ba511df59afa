#pragma once

#include "base/net/http_server.h"

namespace kantha::noded {

/// A client's writer that puts the door's own fields into whatever answer comes, over fields of the
/// same names. Passes the rest on. Lives as long as the request.
class HeadedWriter final : public net::ResponseWriter {
 public:
  explicit HeadedWriter(net::ResponseWriter& client) : client_(client) {}

  /// Before the answer begins.
  void set(std::string_view name, std::string value) { fields_.set(name, std::move(value)); }
  /// Status of the answer that was begun; 0 before.
  int status() const { return status_; }
  /// Bytes of the answer's body so far.
  std::int64_t bytes() const { return bytes_; }

  net::Task<Status> send(net::HttpResponse response) override;
  net::Task<Status> start(int status, net::Headers headers) override;
  net::Task<Status> write(std::string bytes) override;
  net::Task<Status> finish() override { return client_.finish(); }
  void abort() override { client_.abort(); }
  bool started() const override { return client_.started(); }
  bool client_gone() const override { return client_.client_gone(); }
  void on_client_gone(std::function<void()> callback) override {
    client_.on_client_gone(std::move(callback));
  }

 private:
  void put_fields(net::Headers& headers) const;

  net::ResponseWriter& client_;
  net::Headers fields_;
  int status_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace kantha::noded
