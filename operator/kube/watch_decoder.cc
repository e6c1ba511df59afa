#include "operator/kube/watch_decoder.h"

#include <utility>

namespace kantha::kube {
namespace {

/// The largest object that etcd takes by default has 1.5 MB.
constexpr std::size_t kNodesMax = 400'000;

std::optional<WatchEventType> type_of(const Json& name) {
  if (!name.is_string()) return std::nullopt;
  const auto& text = name.get_ref<const std::string&>();
  if (text == "ADDED") return WatchEventType::kAdded;
  if (text == "MODIFIED") return WatchEventType::kModified;
  if (text == "DELETED") return WatchEventType::kDeleted;
  if (text == "BOOKMARK") return WatchEventType::kBookmark;
  if (text == "ERROR") return WatchEventType::kError;
  return std::nullopt;
}

}  // namespace

Result<std::vector<WatchEvent>> WatchDecoder::feed(std::string_view bytes) {
  std::vector<WatchEvent> events;
  while (!is_broken_ && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    is_broken_ = part.size() > line_bytes_max_ - pending_.size();
    if (is_broken_) break;
    if (end == std::string_view::npos) {
      pending_ += part;
      break;
    }
    bytes.remove_prefix(end + 1);
    std::string joined;
    if (!pending_.empty()) joined = std::exchange(pending_, {}).append(part);
    std::string_view line = joined.empty() ? part : std::string_view(joined);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (auto event = decode(line)) {
      events.push_back(*std::move(event));
    } else {
      ++skipped_count_;
    }
  }
  // What was whole before the line at fault still counts; the next call tells of the fault.
  if (!is_broken_ || !events.empty()) return events;
  pending_.clear();
  return Error{Code::kOutOfRange,
               "a watch event is over the limit of " + std::to_string(line_bytes_max_) + " bytes"};
}

std::optional<WatchEvent> WatchDecoder::decode(std::string_view line) {
  Result<Json> parsed = parse_json(without_members(line, unread_, lean_),
                                   {.nodes_max = kNodesMax, .bytes_max = line_bytes_max_});
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const auto name = parsed->find("type");
  const auto object = parsed->find("object");
  if (name == parsed->end() || object == parsed->end() || !object->is_object()) return std::nullopt;
  const auto type = type_of(*name);
  if (!type) return std::nullopt;
  return WatchEvent{*type, std::move(*object)};
}

}  // namespace kantha::kube
