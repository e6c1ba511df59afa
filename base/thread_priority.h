#pragma once

/// How threads of one process share its CPUs.
namespace kantha {

/// Lets the calling thread, and every thread that it starts from now on, stand back by `steps`
/// (nice values, at most up to 19) behind the process's other threads where CPUs are short. Linux
/// gives a thread that wakes the CPU sooner the fewer steps it stands back. Cannot be undone
/// without privileges.
void lower_thread_priority(int steps);

/// Asks the kernel to give the calling thread its share of a CPU in turns of a tenth of a
/// millisecond instead of some three milliseconds. For threads that meet at barriers every few
/// microseconds: while one of them waits for its turn behind another process, all wait. The share
/// stays what it was.
///
/// Linux 6.12 and later (the runtime of sched_setattr for a fair task); elsewhere, and where a
/// sandbox forbids the call, nothing changes.
void ask_for_short_turns();

}  // namespace kantha
