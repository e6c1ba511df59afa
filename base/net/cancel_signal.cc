#include <utility>

#include "base/net/http_client.h"

namespace kantha::net {

void CancelSignal::cancel() {
  if (std::exchange(cancelled_, true)) return;
  const auto callbacks = std::exchange(callbacks_, {});
  for (const auto& callback : callbacks) callback();
}

void CancelSignal::on_cancel(std::function<void()> callback) {
  if (cancelled_) {
    callback();
  } else {
    callbacks_.push_back(std::move(callback));
  }
}

}  // namespace kantha::net
