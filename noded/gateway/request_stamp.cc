#include "noded/gateway/request_stamp.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/json.h"

namespace kantha::noded {
namespace {

constexpr std::string_view kTenant = "tenant";
constexpr std::string_view kClass = "class";

/// A member's value to be replaced, or a member to be added.
struct Edit {
  std::optional<JsonSpan> at;  ///< nullopt: added at the end of the object
  std::string name;
  std::string value;
};

std::string json_string(std::string_view text) { return dump_json(Json(std::string(text))); }

bool is_null(std::string_view text) { return text == "null"; }

/// The object in `span` without the members that the door decides, as "name":value texts.
std::vector<std::string> kept_members(std::string_view body, const JsonObjectOutline& ours,
                                      bool keep_class) {
  std::vector<std::string> out;
  for (const JsonMember& member : ours.members) {
    if (member.name == kTenant || (member.name == kClass && !keep_class)) continue;
    out.push_back(json_string(member.name) + ":" + std::string(member.value.in(body)));
  }
  return out;
}

std::optional<Edit> vendor_edit(std::string_view body, const RequestFacts& facts,
                                const KeyGrant& grant) {
  const JsonSpan* given = facts.outline->find("kantha");
  std::vector<std::string> members;
  if (given != nullptr && !is_null(given->in(body))) {
    const auto ours = outline_object(body, *given);
    // Not an object: the engine refuses it, and nobody's tenant is in it.
    if (!ours) return std::nullopt;
    members = kept_members(body, *ours, grant.slo_class.empty());
  }
  members.push_back(R"("tenant":)" + json_string(grant.tenant));
  if (!grant.slo_class.empty()) members.push_back(R"("class":)" + json_string(grant.slo_class));
  std::string value;
  for (const std::string& member : members) value += (value.empty() ? "{" : ",") + member;
  return Edit{given == nullptr ? std::nullopt : std::optional(*given), "kantha", value + "}"};
}

/// The client's own wish, where it is an integer as the engine takes it.
std::optional<std::int64_t> integer_in(std::string_view text) {
  const Result<Json> json = parse_json(text);
  if (!json.ok()) return std::nullopt;
  if (json->is_number_unsigned() && json->get<std::uint64_t>() > INT32_MAX) return INT32_MAX;
  if (json->is_number_integer()) return json->get<std::int64_t>();
  if (!json->is_number_float()) return std::nullopt;
  const double value = json->get<double>();
  if (!(value >= INT32_MIN && value <= INT32_MAX)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? std::optional(whole) : std::nullopt;
}

std::optional<Edit> priority_edit(std::string_view body, const RequestFacts& facts,
                                  const KeyGrant& grant) {
  if (!grant.priority) return std::nullopt;
  const JsonSpan* given = facts.outline->find("priority");
  const std::string own = std::to_string(*grant.priority);
  if (given == nullptr) return Edit{std::nullopt, "priority", own};
  if (is_null(given->in(body))) return Edit{*given, {}, own};
  const auto wish = integer_in(given->in(body));
  if (!wish || *wish >= *grant.priority) return std::nullopt;
  return Edit{*given, {}, own};
}

std::optional<Edit> salt_edit(std::string_view body, const RequestFacts& facts,
                              const KeyGrant& grant) {
  if (!grant.private_cache) return std::nullopt;
  const JsonSpan* given = facts.outline->find("cache_salt");
  // The engine's salt is of tenant and text, so that any text keeps tenants apart.
  const std::string own = R"("own")";
  if (given == nullptr) return Edit{std::nullopt, "cache_salt", own};
  const std::string_view text = given->in(body);
  return is_null(text) || text == R"("")" ? std::optional(Edit{*given, {}, own}) : std::nullopt;
}

}  // namespace

RequestFacts read_request_facts(std::string_view body) {
  RequestFacts facts;
  facts.outline = outline_object(body, {0, body.size()});
  if (!facts.outline) return facts;
  if (const JsonSpan* model = facts.outline->find("model")) {
    const Result<Json> text = parse_json(model->in(body), {.depth_max = 1, .bytes_max = 4096});
    if (text.ok() && text->is_string()) facts.model = text->get<std::string>();
  }
  if (const JsonSpan* stream = facts.outline->find("stream")) {
    facts.streams = stream->in(body) == "true";
  }
  return facts;
}

double estimated_tokens(std::string_view body) {
  constexpr double kBytesPerToken = 4;
  return static_cast<double>(body.size()) / kBytesPerToken;
}

std::string stamped_body(std::string_view body, const RequestFacts& facts, const KeyGrant& grant) {
  std::vector<Edit> edits;
  for (auto make : {vendor_edit, priority_edit, salt_edit}) {
    if (auto edit = make(body, facts, grant)) edits.push_back(*std::move(edit));
  }
  // In the order of the text; what is added comes last, at the closing brace.
  const auto place = [&](const Edit& edit) {
    return std::pair(edit.at ? edit.at->begin : facts.outline->close, edit.name);
  };
  std::ranges::sort(edits, {}, place);
  std::string out;
  out.reserve(body.size() + 256);
  std::size_t copied = 0;
  bool needs_comma = !facts.outline->members.empty();
  for (const Edit& edit : edits) {
    const std::size_t begin = edit.at ? edit.at->begin : facts.outline->close;
    out += body.substr(copied, begin - copied);
    copied = edit.at ? edit.at->end : begin;
    if (!edit.at) {
      out += (needs_comma ? "," : "") + json_string(edit.name) + ":";
      needs_comma = true;
    }
    out += edit.value;
  }
  return out.append(body.substr(copied));
}

}  // namespace kantha::noded
