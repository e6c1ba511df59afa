#include "engine/ops/cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "base/check.h"
#include "base/thread_priority.h"

namespace kantha::ops::cpu {
namespace {

constexpr int kSpins = 1000;

// Fields of ThreadPool::crew_ below the number of the run.
constexpr std::uint64_t kInMask = 0x7fff;
constexpr int kJoinedShift = 15;
constexpr std::uint64_t kJoinedMask = 0x7fff;
constexpr std::uint64_t kJoin = (std::uint64_t{1} << kJoinedShift) + 1;
constexpr std::uint64_t kOpen = std::uint64_t{1} << 31;
constexpr int kThreadsMax = 0x7fff;

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
  CHECK(threads >= 1 && threads <= kThreadsMax);
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  ending_.store(true, std::memory_order_release);
  start_.advance();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_task(Task task, void* context, bool everybody) {
  task_ = task;
  context_ = context;
  const std::uint64_t run = start_.load() + 1;
  crew_.store(run << 32 | kOpen, std::memory_order_release);
  start_.advance();
  task(context, 0);
  close(everybody);
}

/// False when run `run` is over, or so far that nobody else is wanted.
bool ThreadPool::join(std::uint32_t run) {
  std::uint64_t crew = crew_.load(std::memory_order_relaxed);
  while (crew >> 32 == run && (crew & kOpen) != 0) {
    if (crew_.compare_exchange_weak(crew, crew + kJoin, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void ThreadPool::leave() {
  const std::uint64_t before = crew_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kInMask) == 1) left_.advance();
}

/// Waits for the workers and, where not everybody is wanted, keeps out those who have not come.
/// After it no worker touches the task.
void ThreadPool::close(bool everybody) {
  if (!everybody) crew_.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto wanted = static_cast<std::uint64_t>(everybody ? threads_ - 1 : 0);
  for (;;) {
    const std::uint32_t seen = left_.load();
    const std::uint64_t crew = crew_.load(std::memory_order_acquire);
    if ((crew & kInMask) == 0 && (crew >> kJoinedShift & kJoinedMask) >= wanted) return;
    left_.wait_while(seen);
  }
}

void ThreadPool::work(int thread) {
  ask_for_short_turns();
  std::uint32_t seen = 0;
  for (;;) {
    start_.wait_while(seen);
    seen = start_.load();
    if (ending_.load(std::memory_order_acquire)) return;
    // The run may be over by now; the next one wakes this thread again.
    if (!join(seen)) continue;
    task_(context_, thread);
    leave();
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
