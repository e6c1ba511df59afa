#include "noded/node/cpu_map.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "base/whole_file.h"

namespace kantha::noded {
namespace {

constexpr int kCpuMax = 65'535;
constexpr std::size_t kFileBytesMax = 64u << 10;

std::string line_of(const std::string& path) {
  const auto text = read_whole_file(path, kFileBytesMax);
  if (!text.ok()) return {};
  return text->substr(0, text->find_last_not_of(" \t\r\n") + 1);
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool add_range(std::string_view range, std::set<int>& cpus) {
  const std::size_t dash = range.find('-');
  const auto first = number(range.substr(0, dash));
  const auto last = dash == range.npos ? first : number(range.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last > kCpuMax) return false;
  for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  return true;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::set<int> cpus;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (!add_range(text.substr(0, comma), cpus)) return std::nullopt;
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    out += (out.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (end > i) out += "-" + std::to_string(cpus[end]);
    i = end + 1;
  }
  return out;
}

std::string sysfs_pci_address(std::string_view address) {
  std::string out;
  for (const char c : address) {
    const char small = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fine = (small >= '0' && small <= '9') || (small >= 'a' && small <= 'f') ||
                      small == ':' || small == '.';
    if (!fine) return {};
    out += small;
  }
  const std::size_t domain = out.find(':');
  if (domain == out.npos || domain < 4 || out.size() - domain != 8) return {};
  return out.substr(domain - 4);
}

int numa_node_of(const std::string& root, const std::string& pci_address) {
  const std::string address = sysfs_pci_address(pci_address);
  if (address.empty()) return -1;
  return number(line_of(root + "sys/bus/pci/devices/" + address + "/numa_node")).value_or(-1);
}

std::vector<int> cpus_of_node(const std::string& root, int node) {
  if (node < 0) return {};
  const std::string path =
      root + "sys/devices/system/node/node" + std::to_string(node) + "/cpulist";
  return parse_cpu_list(line_of(path)).value_or(std::vector<int>());
}

std::vector<int> engine_cpus(const std::string& root, const std::vector<int>& numa_nodes,
                             const std::vector<int>& allowed) {
  std::set<int> near;
  for (const int node : numa_nodes) {
    const std::vector<int> cpus = cpus_of_node(root, node);
    if (cpus.empty()) return {};
    near.insert(cpus.begin(), cpus.end());
  }
  std::vector<int> out;
  std::ranges::copy_if(allowed, std::back_inserter(out),
                       [&](int cpu) { return near.contains(cpu); });
  return out;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  }
  return out;
}

}  // namespace kantha::noded
