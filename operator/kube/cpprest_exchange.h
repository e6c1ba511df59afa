#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "base/net/http_client.h"
#include "base/net/task_group.h"
#include "operator/kube/cpprest_link.h"

/// Where the SDK's threads and our executor meet.
namespace kantha::kube {

/// A way onto our executor that can be shut before the executor goes. Thread-safe.
class ExecutorGate {
 public:
  explicit ExecutorGate(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
  /// Runs `work` on the executor; drops it once shut.
  void post(std::function<void()> work);
  void shut();

 private:
  std::mutex mutex_;
  std::optional<boost::asio::any_io_executor> executor_;
};

/// When an exchange wakes our executor; each time costs two switches of threads.
enum class CpprestWakes : std::uint8_t {
  kEachPart,  ///< at the head and at each piece: a watch
  kAtEnd,     ///< when all is there, or no more may be held: a call
};

/// One request through a CpprestLink and its answer, awaited on our executor. At most
/// kBufferedBytesMax and one piece more are held; then the server is not read from.
class CpprestExchange final : public CpprestSink,
                              public std::enable_shared_from_this<CpprestExchange> {
 public:
  static constexpr std::size_t kBufferedBytesMax = 256u << 10;

  CpprestExchange(boost::asio::any_io_executor executor, std::shared_ptr<ExecutorGate> gate,
                  CpprestWakes wakes)
      : gate_(std::move(gate)), wakes_(wakes), changed_(std::move(executor)) {}

  /// Sends the request and waits for the answer's head. Executor's thread, as all that follows.
  static net::Task<Status> begin(std::shared_ptr<CpprestExchange> self,
                                 std::shared_ptr<CpprestLink> link, net::HttpRequest request,
                                 Duration timeout);
  /// As ResponseStream::read.
  static net::Task<Result<std::string>> read(std::shared_ptr<CpprestExchange> self,
                                             Duration idle_timeout);
  /// Ends the exchange, unless it has ended.
  void cancel();
  /// After begin.
  int status() const { return status_; }
  const net::Headers& headers() const { return headers_; }

  void on_head(int status, net::Headers headers) override;
  void on_piece(std::string bytes, std::function<void()> go_on) override;
  void on_end() override;
  void on_failure(bool was_taken, std::string message) override;

 private:
  /// Wakes whoever waits on the executor, once for all that came until it runs.
  void tell();
  std::optional<Status> head_now();
  std::optional<Result<std::string>> piece_now();

  std::shared_ptr<ExecutorGate> gate_;
  const CpprestWakes wakes_;
  // Executor's thread.
  net::Notify changed_;
  std::function<void()> stop_;
  // Written before has_head_ is set, read after it was seen.
  int status_ = 0;
  net::Headers headers_;

  std::mutex mutex_;
  bool is_told_ = false;  ///< a wake-up is under way
  bool has_head_ = false;
  bool has_ended_ = false;
  bool is_cancelled_ = false;
  std::optional<Error> failure_;
  std::string buffered_;
  std::function<void()> go_on_;
};

}  // namespace kantha::kube
