#pragma once

/// How threads of one process share its CPUs.
namespace kantha {

/// Lets the calling thread, and every thread that it starts from now on, stand back by `steps`
/// (nice values, at most up to 19) behind the process's other threads where CPUs are short. Linux
/// gives a thread that wakes the CPU sooner the fewer steps it stands back. Cannot be undone
/// without privileges.
void lower_thread_priority(int steps);

}  // namespace kantha
