#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "operator/kube/transport.h"

/// A Transport whose answers a test writes down beforehand. One thread.
namespace kantha::kube {

/// A body in the pieces that a test gives; after them an end, or an error.
class ScriptedStream final : public net::ResponseStream {
 public:
  ScriptedStream(int status, std::vector<Result<std::string>> pieces)
      : status_(status), pieces_(std::move(pieces)) {}

  int status() const override { return status_; }
  const net::Headers& headers() const override { return headers_; }
  net::Task<Result<std::string>> read(Duration) override {
    if (next_ == pieces_.size()) co_return std::string();
    co_return pieces_[next_++];
  }
  void cancel() override { next_ = pieces_.size(); }

 private:
  int status_;
  net::Headers headers_;
  std::vector<Result<std::string>> pieces_;
  std::size_t next_ = 0;
};

class ScriptedTransport final : public Transport {
 public:
  void answer(int status, std::string body, net::Headers headers = {}) {
    answers_.push_back(net::HttpResponse{status, std::move(headers), std::move(body)});
  }
  void fail(Code code) { answers_.push_back(Error{code, "scripted"}); }
  void stream(int status, std::vector<Result<std::string>> pieces) {
    streams_.push_back(std::make_unique<ScriptedStream>(status, std::move(pieces)));
  }

  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration,
                                            std::size_t) override {
    requests.push_back(std::move(request));
    if (answers_.empty()) co_return unavailable("nothing scripted");
    Result<net::HttpResponse> next = std::move(answers_.front());
    answers_.pop_front();
    co_return next;
  }
  net::Task<Result<std::unique_ptr<net::ResponseStream>>> open(net::HttpRequest request,
                                                               Duration) override {
    requests.push_back(std::move(request));
    if (streams_.empty()) co_return unavailable("nothing scripted");
    std::unique_ptr<net::ResponseStream> next = std::move(streams_.front());
    streams_.pop_front();
    co_return next;
  }
  void close() override { answers_.clear(); }

  std::vector<net::HttpRequest> requests;

 private:
  std::deque<Result<net::HttpResponse>> answers_;
  std::deque<std::unique_ptr<net::ResponseStream>> streams_;
};

}  // namespace kantha::kube
