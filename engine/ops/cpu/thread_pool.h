#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace kantha::ops::cpu {

/// A word that threads wait on: spins about 1,000 times, then parks in the kernel. Spinning longer
/// collapses when another process takes a core; parking sooner costs a wake-up per stage.
class ParkingWord {
 public:
  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }
  /// Adds 1 and wakes whoever is parked.
  void advance();
  /// Returns once the value differs from `seen`. Wakes at least once a second to look.
  void wait_while(std::uint32_t seen);

 private:
  std::atomic<std::uint32_t> value_ = 0;
  std::atomic<std::uint32_t> parked_ = 0;
};

/// Runs one function on a fixed set of threads at once, the caller's included.
///
/// One thread at a time calls run(); it takes part as thread 0. Nothing is allocated per call.
/// The function must not throw. The destructor ends and joins the workers.
class ThreadPool {
 public:
  /// `threads` ≥ 1, the caller's included: threads − 1 workers are started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls fn(thread) for each thread in [0, threads()) and returns when all have returned.
  template <class Fn>
  void run(Fn& fn) {
    run_task(call<Fn>, &fn, true);
  }

  /// For work that any number of threads can do: calls fn(0) and fn(thread) for those others that
  /// come before fn(0) has returned, and returns when all of these have. Who comes later, because
  /// its core was taken, is not waited for. No barrier() inside.
  template <class Fn>
  void run_open(Fn& fn) {
    run_task(call<Fn>, &fn, false);
  }

  /// Inside run(), not run_open(): every thread must call it; returns when all have. What was
  /// written before it is visible to all after it.
  void barrier();

 private:
  using Task = void (*)(void* context, int thread);
  template <class Fn>
  static void call(void* context, int thread) {
    (*static_cast<Fn*>(context))(thread);
  }
  void run_task(Task task, void* context, bool everybody);
  bool join(std::uint32_t run);
  void leave();
  void close(bool everybody);
  void work(int thread);

  const int threads_;
  // Written by the caller while nobody is in a run, read by who has joined one.
  Task task_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> ending_ = false;
  ParkingWord start_;  ///< advances at each run and at the end
  /// The run in the high half; then kOpen, how many workers have joined it, how many are in it.
  alignas(64) std::atomic<std::uint64_t> crew_ = 0;
  ParkingWord left_;  ///< advances when the last worker in a run leaves
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) ParkingWord phase_;  ///< advances when all have arrived
  std::vector<std::thread> workers_;
};

}  // namespace kantha::ops::cpu
