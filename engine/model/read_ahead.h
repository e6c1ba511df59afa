#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

/// Several reads at once, ahead of whoever takes the bytes in one order.
namespace kantha::model {

struct ReadAheadOptions {
  int threads = 8;                      ///< reads in flight
  std::size_t piece_bytes = 2 << 20;    ///< of one read
  std::size_t window_bytes = 32 << 20;  ///< how far the reads go ahead of what was taken
};

/// Brings bytes into memory before they are needed. Whoever touches a mapped file waits for one
/// small read at a time; on a network file system each costs a round trip, and a model of gigabytes
/// minutes. Here `threads` larger ones are under way, in the order in which they will be taken, and
/// never more than the window ahead, so that a model larger than the memory left is no trouble.
/// Nobody waits for it: what it has not brought yet is read when it is touched, as ever.
class ReadAhead {
 public:
  using Bytes = std::span<const std::byte>;

  /// `fetch` brings some bytes into memory and may block; it is called on all threads at once, and
  /// outlives this object. `order` is borrowed.
  ReadAhead(const std::vector<Bytes>& order, std::function<void(Bytes)> fetch,
            ReadAheadOptions options = {});
  /// Stops after the reads in flight.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// So many more bytes of the order were taken. Any thread.
  void advance(std::size_t bytes);

 private:
  struct Piece {
    Bytes bytes;
    std::size_t start = 0;  ///< in the order
  };
  void work();

  const std::function<void(Bytes)> fetch_;
  const ReadAheadOptions options_;
  std::vector<Piece> pieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;   ///< of pieces_
  std::size_t taken_ = 0;  ///< bytes
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kantha::model
