#include "engine/ops/cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "base/check.h"

namespace kantha::ops::cpu {
namespace {

constexpr int kSpins = 1000;

// The kernel compares the word itself, so a change between our look and the sleep is not lost.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  const timespec one_second = {.tv_sec = 1, .tv_nsec = 0};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &one_second, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void ParkingWord::advance() {
  // Sequentially consistent with wait_while: either we see the sleeper's mark, or it sees our
  // value.
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) futex_wake_all(value_);
}

void ParkingWord::wait_while(std::uint32_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (load() != seen) return;
    _mm_pause();
  }
  parked_.fetch_add(1, std::memory_order_seq_cst);
  while (value_.load(std::memory_order_seq_cst) == seen) futex_wait(value_, seen);
  parked_.fetch_sub(1, std::memory_order_relaxed);
}

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  CHECK(threads >= 1);
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  ending_ = true;
  start_.advance();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_task(Task task, void* context) {
  task_ = task;
  context_ = context;
  start_.advance();
  task(context, 0);
  // Everybody's end is one more barrier: after it no worker touches the task.
  barrier();
}

void ThreadPool::work(int thread) {
  std::uint32_t seen = 0;
  for (;;) {
    start_.wait_while(seen);
    // A new run cannot begin before this thread has passed the last one's barrier.
    ++seen;
    if (ending_) return;
    task_(context_, thread);
    barrier();
  }
}

void ThreadPool::barrier() {
  if (threads_ == 1) return;
  const std::uint32_t phase = phase_.load();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.advance();
  } else {
    phase_.wait_while(phase);
  }
}

}  // namespace kantha::ops::cpu
