#include "operator/cluster/activator_slice.h"

#include <utility>

#include "base/log.h"
#include "operator/cluster/activator_door.h"
#include "operator/cluster/child_writer.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"
#include "operator/serving/covers.h"

namespace kantha::cluster {
namespace {

constexpr Duration kTrustedFor = std::chrono::minutes(1);
constexpr Duration kLeavingAgain = std::chrono::seconds(1);

kube::ObjectKey slice_key(const Pass& pass) {
  return {pass.key.name_space, serving::activator_slice_name(pass.key.name)};
}

bool is_missing(const Error& error) { return kube::fault_of(error) == kube::ApiFault::kNotFound; }

/// True: it is now as the document says.
net::Task<bool> create_slice(Pass& pass, std::string document) {
  const Result<Json> made = co_await pass.tools.client.create(
      pass.key, kEndpointSlices, pass.key.name_space, std::move(document));
  if (made.ok()) co_return true;
  // Somebody was faster: the next pass reads who.
  if (kube::fault_of(made.error()) == kube::ApiFault::kAlreadyExists) {
    pass.outcome.look_again(kLeavingAgain);
  } else {
    pass.outcome.note(made.error(), "create EndpointSlice " + slice_key(pass).to_string());
  }
  co_return false;
}

net::Task<bool> apply_slice(Pass& pass, OrderedJson document, std::string live_uid) {
  document["metadata"]["uid"] = std::move(live_uid);
  kube::PatchOptions options;
  options.field_manager = serving::kFieldManager;
  options.force = true;
  const Result<Json> done = co_await pass.tools.client.patch(
      pass.key, kEndpointSlices, slice_key(pass), dump_json(document), options);
  if (!done.ok()) {
    pass.outcome.note(done.error(), "apply EndpointSlice " + slice_key(pass).to_string());
  }
  co_return done.ok();
}

net::Task<bool> write_slice(Pass& pass, OrderedJson document) {
  const Result<Json> live = co_await pass.tools.client.get(kEndpointSlices, slice_key(pass));
  if (!live.ok()) {
    if (is_missing(live.error())) {
      std::string text = dump_json(document);
      co_return co_await create_slice(pass, std::move(text));
    }
    pass.outcome.note(live.error(), "read EndpointSlice " + slice_key(pass).to_string());
    co_return false;
  }
  const Holder holder = holder_of(*live, *pass.object);
  if (holder == Holder::kForeign) {
    pass.outcome.add({"NameConflict", "EndpointSlice " + slice_key(pass).to_string() +
                                          " belongs to somebody else"});
    co_return false;
  }
  if (holder != Holder::kOurs && holder != Holder::kAdoptable) {
    pass.outcome.look_again(kLeavingAgain);
    co_return false;
  }
  if (serving::covers(*live, document)) co_return true;
  std::string uid = live->at("metadata").value("uid", "");
  co_return co_await apply_slice(pass, std::move(document), std::move(uid));
}

}  // namespace

net::Task<bool> open_door(Pass& pass, serving::ActivatorRoute route) {
  if (route.addresses.empty()) co_return false;
  DoorMemory& memory = pass.memory.door;
  const TimePoint now = pass.tools.clock.now();
  const bool is_as_written = memory.is_open && memory.route == route;
  if (is_as_written && now - memory.checked < kTrustedFor) {
    pass.outcome.look_again(memory.checked + kTrustedFor - now);
    co_return true;
  }
  if (!pass.tools.client.may_write()) co_return false;
  OrderedJson document = serving::render_activator_slice(*pass.object, route);
  const bool written = co_await write_slice(pass, std::move(document));
  if (!written) co_return false;
  if (!memory.is_open)
    log_info("requests wait at the activator", {{"object", pass.key.to_string()}});
  memory = {.is_known = true, .is_open = true, .route = std::move(route), .checked = now};
  pass.outcome.look_again(kTrustedFor);
  co_return true;
}

net::Task<bool> close_door(Pass& pass) {
  DoorMemory& memory = pass.memory.door;
  if ((memory.is_known && !memory.is_open) || !pass.tools.client.may_write()) co_return false;
  const Result<Json> live = co_await pass.tools.client.get(kEndpointSlices, slice_key(pass));
  if (!live.ok() && !is_missing(live.error())) {
    pass.outcome.note(live.error(), "read EndpointSlice " + slice_key(pass).to_string());
    co_return false;
  }
  const bool was_open = live.ok() && holder_of(*live, *pass.object) == Holder::kOurs;
  if (was_open) {
    kube::DeleteOptions options;
    options.uid = live->at("metadata").value("uid", "");
    const Status done =
        co_await pass.tools.client.remove(pass.key, kEndpointSlices, slice_key(pass), options);
    if (!done.ok() && !is_missing(done.error())) {
      pass.outcome.note(done.error(), "delete EndpointSlice " + slice_key(pass).to_string());
      co_return false;
    }
    log_info("requests go to pods alone", {{"object", pass.key.to_string()}});
  }
  memory = {.is_known = true};
  co_return was_open;
}

}  // namespace kantha::cluster
