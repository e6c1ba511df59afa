#include "noded/gateway/stream_chunk.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "base/json.h"

namespace kantha::noded {
namespace {

constexpr std::string_view kChoices = R"(,"choices":[)";
constexpr std::string_view kChoiceZero = R"(,"choices":[{"index":0,)";
constexpr std::string_view kRole = R"(,"choices":[{"index":0,"delta":{"role":)";
constexpr std::string_view kNoChoices = R"(,"choices":[],"usage":{)";
constexpr std::string_view kVendor = R"(,"kantha":{"token_ids":[)";
constexpr std::string_view kSeed = R"(,"seed":)";
constexpr std::string_view kPrompt = R"(,"prompt_tokens":)";

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// The number that `text` begins with after `name`; empty when it does not begin so.
std::string_view cut_number(std::string_view& text, std::string_view name) {
  if (!remove_prefix(text, name)) return {};
  const std::size_t end = std::min(text.find_first_not_of("-0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

/// Reads `1,2],"seed":3,"prompt_tokens":4}}`: what follows kVendor up to the payload's end.
bool cut_vendor(std::string_view text, StreamChunk& chunk) {
  const std::size_t close = text.find(']');
  if (close == text.npos) return false;
  chunk.ids = text.substr(0, close);
  text.remove_prefix(close + 1);
  if (!remove_suffix(text, "}}")) return false;
  chunk.origin = text;
  chunk.seed = cut_number(text, kSeed);
  chunk.prompt = cut_number(text, kPrompt);
  return text.empty();
}

/// Sees how the choice and what follows it end. Quotes inside of strings are escaped, so that none
/// of these endings can be a part of the text.
bool read_ending(StreamChunk& chunk) {
  std::string_view rest = chunk.choices;
  chunk.usage_comes = remove_suffix(rest, R"(,"usage":null)");
  if (!remove_suffix(rest, "}]")) return false;
  if (remove_suffix(rest, R"("finish_reason":null)")) return true;
  chunk.ends = true;
  return remove_suffix(rest, R"("finish_reason":"stop")") ||
         remove_suffix(rest, R"("finish_reason":"length")") ||
         remove_suffix(rest, R"("finish_reason":"tool_calls")");
}

/// Members in the given order, then all others as they come.
OrderedJson in_order(const OrderedJson& object, std::initializer_list<std::string_view> first) {
  OrderedJson sorted = OrderedJson::object();
  for (const std::string_view name : first) {
    const std::string key(name);
    if (object.contains(key)) sorted[key] = object[key];
  }
  for (const auto& [name, value] : object.items()) {
    if (!sorted.contains(name)) sorted[name] = value;
  }
  return sorted;
}

void move_to_end(OrderedJson& object, const std::string& name) {
  if (!object.contains(name)) return;
  OrderedJson value = object[name];
  object.erase(name);
  object[name] = std::move(value);
}

}  // namespace

std::optional<StreamChunk> cut_chunk(std::string_view payload) {
  const std::size_t choices = payload.find(kChoices);
  if (choices == payload.npos || !payload.starts_with(R"({"id":)")) return std::nullopt;
  StreamChunk chunk;
  chunk.head = payload.substr(0, choices);
  std::string_view rest = payload.substr(choices);
  if (rest.starts_with(kNoChoices)) {
    if (!remove_suffix(rest, "}")) return std::nullopt;
    chunk.choices = rest;
    chunk.is_usage = true;
    return chunk;
  }
  const std::size_t vendor = rest.rfind(kVendor);
  if (vendor == rest.npos || !rest.starts_with(kChoiceZero)) return std::nullopt;
  if (!cut_vendor(rest.substr(vendor + kVendor.size()), chunk)) return std::nullopt;
  chunk.choices = rest.substr(0, vendor);
  chunk.opens = rest.starts_with(kRole);
  if (!read_ending(chunk)) return std::nullopt;
  return chunk;
}

std::optional<std::string> respell_chunk(std::string_view payload) {
  Result<OrderedJson> json = parse_ordered_json(payload);
  if (!json.ok() || !json->is_object() || !json->contains("choices")) return std::nullopt;
  OrderedJson& choices = (*json)["choices"];
  if (!choices.is_array() || choices.size() > 1) return std::nullopt;
  if (!choices.empty()) {
    OrderedJson& choice = choices[0];
    if (!choice.is_object()) return std::nullopt;
    choice = in_order(choice, {"index", "delta"});
    if (choice.contains("delta") && choice["delta"].is_object()) {
      choice["delta"] = in_order(choice["delta"], {"role"});
    }
    move_to_end(choice, "finish_reason");
  }
  OrderedJson sorted = in_order(*json, {"id", "object", "created", "model", "system_fingerprint"});
  if (sorted.contains("kantha") && sorted["kantha"].is_object()) {
    sorted["kantha"] = in_order(sorted["kantha"], {"token_ids", "seed", "prompt_tokens"});
  }
  for (const char* name : {"choices", "usage", "kantha"}) move_to_end(sorted, name);
  return dump_json(sorted);
}

bool append_token_ids(std::string_view ids, std::vector<TokenId>& token_ids) {
  const char* at = ids.data();
  const char* const end = at + ids.size();
  while (at != end) {
    TokenId id = 0;
    const auto read = std::from_chars(at, end, id);
    if (read.ec != std::errc() || id < 0) return false;
    token_ids.push_back(id);
    at = read.ptr;
    if (at == end) break;
    if (*at != ',' || at + 1 == end) return false;
    ++at;
  }
  return true;
}

bool is_error_event(std::string_view payload) {
  return payload.starts_with(R"({"error":)") || payload.starts_with(R"({ "error":)");
}

bool says_engine_was_ended(std::string_view payload) {
  return payload.find(R"("code":"engine_was_ended")") != payload.npos;
}

bool says_engine_ends(std::string_view payload) {
  const Result<Json> json = parse_json(payload);
  if (!json.ok() || !json->is_object()) return false;
  const auto error = json->find("error");
  if (error == json->end() || !error->is_object()) return false;
  const auto type = error->find("type");
  return type != error->end() && *type == "service_unavailable_error";
}

}  // namespace kantha::noded
