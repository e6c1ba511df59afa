#include "noded/fleet/hop_door.h"

#include <utility>

#include "base/log.h"
#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

constexpr std::string_view kTenantHeader = "x-kantha-tenant";

/// Adds this pod's load to the head of the answer, as it is when that goes out.
class LoadStamp final : public net::ResponseWriter {
 public:
  LoadStamp(net::ResponseWriter& writer, const FleetRouter& router)
      : writer_(writer), router_(router) {}

  net::Task<Status> send(net::HttpResponse response) override {
    stamp(response.headers);
    return writer_.send(std::move(response));
  }
  net::Task<Status> start(int status, net::Headers headers) override {
    stamp(headers);
    return writer_.start(status, std::move(headers));
  }
  net::Task<Status> write(std::string bytes) override { return writer_.write(std::move(bytes)); }
  net::Task<Status> finish() override { return writer_.finish(); }
  void abort() override { writer_.abort(); }
  bool started() const override { return writer_.started(); }
  bool client_gone() const override { return writer_.client_gone(); }
  void on_client_gone(std::function<void()> callback) override {
    writer_.on_client_gone(std::move(callback));
  }

 private:
  void stamp(net::Headers& headers) const {
    headers.set(kLoadHeader, load_text(router_.own_load()));
  }

  net::ResponseWriter& writer_;
  const FleetRouter& router_;
};

}  // namespace

bool HopDoor::came_from_peer(const net::HttpRequest& request, DoorKind kind) {
  if (kind == DoorKind::kPeers) return true;
  const std::optional<std::string_view> mark = request.headers.find(kHopHeader);
  if (!mark) return false;
  const Result<std::string> from = seal_.open(*mark, request.method, request.target);
  if (from.ok()) return true;
  ++forged_;
  log_debug("a hop is not believed", {{"why", from.error().message}});
  return false;
}

net::Task<void> HopDoor::answer(net::HttpRequest request, net::ResponseWriter& writer,
                                DoorKind kind) {
  if (came_from_peer(request, kind)) {
    request.headers.set(kHopHeader, "1");
    co_await answer_peer(std::move(request), writer);
    co_return;
  }
  request.headers.remove(kHopHeader);
  request.headers.remove(kTenantHeader);
  co_await inner_(std::move(request), writer);
}

net::Task<void> HopDoor::answer_peer(net::HttpRequest request, net::ResponseWriter& writer) {
  LoadStamp stamped(writer, router_);
  const EnginePhase phase = router_.own_load().phase;
  if (request.path() == kLoadPath) {
    net::HttpResponse answer;
    answer.status = 204;
    co_await door_send(stamped, std::move(answer));
    co_return;
  }
  if (phase != EnginePhase::kReady) {
    net::HttpResponse refusal = door_error(
        503, "this pod takes nothing on now: it is " + std::string(engine_phase_name(phase)), 1);
    refusal.headers.set(kRefusedHeader, std::string(engine_phase_name(phase)));
    co_await door_send(stamped, std::move(refusal));
    co_return;
  }
  co_await inner_(std::move(request), stamped);
}

}  // namespace kantha::noded
