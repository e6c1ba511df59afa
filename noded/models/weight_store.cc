#include "noded/models/weight_store.h"

#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace kantha::noded {

struct WeightStore::Body {
  Body(FetchSpec spec, FetchSettings settings, const Clock& clock)
      : tasks(io.get_executor(), "weights"),
        fetch(io.get_executor(), std::move(spec), std::move(settings), clock, board) {}

  boost::asio::io_context io{1};
  ProgressBoard board;
  net::TaskGroup tasks;
  WeightFetch fetch;
  std::thread thread;
};

WeightStore::WeightStore(FetchSpec spec, FetchSettings settings, const Clock& clock)
    : file_(settings.cache + "/" + spec.sha256),
      body_(std::make_unique<Body>(std::move(spec), std::move(settings), clock)) {}

WeightStore::~WeightStore() {
  if (!body_->thread.joinable()) return;
  // The flag reaches a thread that reads gigabytes; the call one that waits.
  body_->fetch.ask_to_stop();
  boost::asio::post(body_->io, [this] { body_->fetch.stop(); });
  body_->thread.join();
}

void WeightStore::start() {
  body_->tasks.spawn(body_->fetch.run());
  body_->thread = std::thread([this] {
    body_->io.run();
    // Lets the task that ended in the last turn report it to its owner.
    body_->io.restart();
    body_->io.poll();
  });
}

WeightsState WeightStore::state() const { return body_->board.state(); }

}  // namespace kantha::noded
