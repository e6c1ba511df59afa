#include "noded/prefix_handover.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kantha::noded {

PrefixHandover::PrefixHandover(boost::asio::any_io_executor executor, const Clock& clock,
                               HandoverPolicy policy)
    : clock_(clock), policy_(policy), senders_(executor, "handover") {}

bool PrefixHandover::is_over() const { return senders_.running() == 0 || clock_.now() >= until_; }

net::Task<void> PrefixHandover::send_some() {
  while (next_ < requests_.size() && clock_.now() < until_ && may_go_on_()) {
    net::HttpRequest request = std::move(requests_[next_++]);
    const bool is_computed = co_await send_(std::move(request));
    computed_ += is_computed ? 1 : 0;
  }
  const bool is_last = senders_.running() == 1;
  if (is_last) {
    log_info("hottest prompts handed over", {{"prompts", requests_.size()}, {"done", computed_}});
  }
}

void PrefixHandover::begin(std::vector<net::HttpRequest> requests, Send send,
                           std::function<bool()> may_go_on) {
  requests_ = std::move(requests);
  send_ = std::move(send);
  may_go_on_ = std::move(may_go_on);
  until_ = clock_.now() + policy_.time_max;
  const std::size_t senders = std::min(policy_.at_once, requests_.size());
  for (std::size_t i = 0; i < senders; ++i) senders_.spawn(send_some());
}

}  // namespace kantha::noded
