#include "operator/runtime/lease_record.h"

#include <chrono>
#include <ctime>

#include <fmt/format.h>

#include "base/json_text.h"

namespace kantha::runtime {
namespace {

const Json* field(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t number(const Json& object, const char* name) {
  const Json* value = field(object, name);
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

}  // namespace

LeaseRecord lease_record_from_json(const Json& lease) {
  LeaseRecord record;
  const Json* spec = field(lease, "spec");
  if (spec == nullptr) return record;
  const Json* holder = field(*spec, "holderIdentity");
  record.holder = text_at(*spec, "holderIdentity");
  // A holder of another type was garbled, and what is garbled was not given back.
  const bool is_text = holder != nullptr && holder->is_string();
  record.duration_seconds = is_text ? number(*spec, "leaseDurationSeconds") : 0;
  record.acquire_time = text_at(*spec, "acquireTime");
  record.renew_time = text_at(*spec, "renewTime");
  record.transitions = number(*spec, "leaseTransitions");
  return record;
}

Json lease_with_record(Json lease, const std::string& name_space, const std::string& name,
                       const LeaseRecord& record) {
  if (!lease.is_object()) lease = Json::object();
  lease["apiVersion"] = "coordination.k8s.io/v1";
  lease["kind"] = "Lease";
  Json& meta = lease["metadata"];
  if (!meta.is_object()) meta = Json::object();
  meta["name"] = name;
  meta["namespace"] = name_space;
  meta.erase("managedFields");
  lease["spec"] = {{"holderIdentity", record.holder},
                   {"leaseDurationSeconds", record.duration_seconds},
                   {"acquireTime", record.acquire_time},
                   {"renewTime", record.renew_time},
                   {"leaseTransitions", record.transitions}};
  return lease;
}

std::string micro_time(WallTime time) {
  using std::chrono::microseconds;
  using std::chrono::seconds;
  const auto whole = std::chrono::floor<seconds>(time);
  const auto micros = std::chrono::duration_cast<microseconds>(time - whole).count();
  const std::time_t stamp = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  if (gmtime_r(&stamp, &parts) == nullptr) return "1970-01-01T00:00:00.000000Z";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros);
}

}  // namespace kantha::runtime
