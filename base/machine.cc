#include "base/machine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace kantha {
namespace {

/// Folders of one controller's hierarchy, from this process's own group up to the mount.
using GroupPath = std::vector<std::string>;

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> words(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text) {
    if (c == separator || c == '\n') {
      if (!part.empty()) parts.push_back(std::move(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(std::move(part));
  return parts;
}

std::optional<std::int64_t> number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// CPUs in a list such as "0-3,8"; nullopt when it is empty or malformed.
std::optional<int> count_cpus(std::string_view list) {
  int count = 0;
  for (const std::string& range : words(list, ',')) {
    const auto ends = words(range, '-');
    if (ends.empty()) return std::nullopt;
    const auto first = number(ends.front());
    const auto last = number(ends.back());
    if (!first || !last || *last < *first || *last > 1'000'000) return std::nullopt;
    count += static_cast<int>(*last - *first + 1);
  }
  if (count == 0) return std::nullopt;
  return count;
}

struct Mount {
  std::string root;   ///< the group that the mount point shows
  std::string point;  ///< where it is mounted
};

/// The mount of a v1 controller, or of v2 when `controller` is empty (proc(5), mountinfo).
std::optional<Mount> find_mount(const std::string& root, std::string_view controller) {
  const auto text = read_text(root + "proc/self/mountinfo");
  if (!text) return std::nullopt;
  for (const std::string& line : words(*text, '\n')) {
    const auto fields = words(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const std::string& type = *(dash + 1);
    const auto options = words(*(dash + 3), ',');
    const bool found =
        controller.empty()
            ? type == "cgroup2"
            : type == "cgroup" && std::ranges::find(options, controller) != options.end();
    if (found) return Mount{fields[3], fields[4]};
  }
  return std::nullopt;
}

/// This process's group for a v1 controller or for v2, as /proc/self/cgroup has it (cgroups(7)).
std::optional<std::string> find_group(const std::string& root, std::string_view controller) {
  const auto text = read_text(root + "proc/self/cgroup");
  if (!text) return std::nullopt;
  for (const std::string& line : words(*text, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const auto controllers = words(names, ',');
    if (controller.empty() ? names.empty()
                           : std::ranges::find(controllers, controller) != controllers.end()) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

GroupPath group_path(const std::string& root, std::string_view controller) {
  const auto mount = find_mount(root, controller);
  const auto group = find_group(root, controller);
  if (!mount || !group) return {};
  // A container sees its own group at the mount point, while /proc may name it from the host's
  // root.
  std::string below = *group;
  if (mount->root != "/") {
    below = below.starts_with(mount->root) ? below.substr(mount->root.size()) : "";
  }
  const std::string point = root + mount->point.substr(1);
  GroupPath folders;
  while (!below.empty() && below != "/") {
    folders.push_back(point + below);
    below.resize(below.rfind('/') == below.npos ? 0 : below.rfind('/'));
  }
  folders.push_back(point);
  return folders;
}

/// What the groups say; each value only where one is set.
struct GroupLimits {
  std::optional<int> cpuset;
  std::optional<int> quota;
  std::optional<std::int64_t> memory;
};

void lower(std::optional<int>& limit, int value) {
  limit = limit ? std::min(*limit, value) : value;
}

void add_quota(std::optional<std::int64_t> quota, std::optional<std::int64_t> period,
               GroupLimits& limits) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return;
  const std::int64_t cpus = (*quota - 1) / *period + 1;
  lower(limits.quota, static_cast<int>(std::min<std::int64_t>(cpus, 1'000'000)));
}

void add_memory(const std::string& file, GroupLimits& limits) {
  const auto text = read_text(file);
  const auto bytes = text ? number(*text) : std::nullopt;
  if (bytes && *bytes > 0) limits.memory = std::min(limits.memory.value_or(INT64_MAX), *bytes);
}

/// The nearest group that names its CPUs is the effective one.
void set_cpuset(const GroupPath& folders, const std::string& file, GroupLimits& limits) {
  for (const std::string& folder : folders) {
    const auto text = read_text(folder + "/" + file);
    limits.cpuset = text ? count_cpus(*text) : std::nullopt;
    if (limits.cpuset) return;
  }
}

GroupLimits read_v2(const std::string& root) {
  GroupLimits limits;
  const GroupPath folders = group_path(root, "");
  for (const std::string& folder : folders) {
    if (const auto text = read_text(folder + "/cpu.max")) {
      const auto fields = words(*text, ' ');
      if (fields.size() == 2) add_quota(number(fields[0]), number(fields[1]), limits);
    }
    add_memory(folder + "/memory.max", limits);
  }
  set_cpuset(folders, "cpuset.cpus.effective", limits);
  return limits;
}

GroupLimits read_v1(const std::string& root) {
  GroupLimits limits;
  for (const std::string& folder : group_path(root, "cpu")) {
    const auto quota = read_text(folder + "/cpu.cfs_quota_us");
    const auto period = read_text(folder + "/cpu.cfs_period_us");
    if (quota && period) add_quota(number(*quota), number(*period), limits);
  }
  for (const std::string& folder : group_path(root, "memory")) {
    add_memory(folder + "/memory.limit_in_bytes", limits);
  }
  const GroupPath folders = group_path(root, "cpuset");
  set_cpuset(folders, "cpuset.effective_cpus", limits);
  if (!limits.cpuset) set_cpuset(folders, "cpuset.cpus", limits);
  return limits;
}

/// The value of a "Name:   value" line in a proc file.
std::optional<std::string> proc_line(const std::string& file, std::string_view name) {
  const auto text = read_text(file);
  if (!text) return std::nullopt;
  for (const std::string& line : words(*text, '\n')) {
    if (!line.starts_with(name)) continue;
    const auto value = line.find_first_not_of(" \t", name.size());
    if (value != line.npos) return line.substr(value);
  }
  return std::nullopt;
}

int affinity_cpus(const std::string& root) {
  const auto list = proc_line(root + "proc/self/status", "Cpus_allowed_list:");
  if (const auto count = list ? count_cpus(*list) : std::nullopt) return *count;
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::int64_t host_memory(const std::string& root) {
  if (const auto text = proc_line(root + "proc/meminfo", "MemTotal:")) {
    const auto kib = number(std::string_view(*text).substr(0, text->find(' ')));
    if (kib && *kib > 0 && *kib < (INT64_MAX >> 10)) return *kib << 10;
  }
  return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE);
}

}  // namespace

MachineLimits read_machine_limits(const std::string& root) {
  const std::string base = root.ends_with('/') ? root : root + "/";
  const std::int64_t host_bytes = host_memory(base);
  MachineLimits limits{affinity_cpus(base), host_bytes, "host"};
  // A hybrid machine mounts both; each controller lives in one of them.
  const std::pair<const char*, GroupLimits> versions[] = {{"cgroup2", read_v2(base)},
                                                          {"cgroup1", read_v1(base)}};
  for (const auto& [name, group] : versions) {
    limits.cpus = std::min(limits.cpus, group.cpuset.value_or(limits.cpus));
    limits.cpus = std::min(limits.cpus, group.quota.value_or(limits.cpus));
    // v1 spells "unlimited" as a number beyond any memory.
    const bool has_memory = group.memory && *group.memory < host_bytes;
    if (has_memory) limits.memory_bytes = std::min(limits.memory_bytes, *group.memory);
    if (group.quota || has_memory) limits.source = name;
  }
  limits.cpus = std::max(limits.cpus, 1);
  return limits;
}

}  // namespace kantha
