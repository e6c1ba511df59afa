// Fetches weights as kantha-noded does, with short pauses, so that tests can kill it at any moment.
// Arguments: cache folder, SHA-256, addresses. Ends with 0 when they are there, 3 when a round
// failed.
#include <poll.h>

#include <cstdio>
#include <string>

#include "base/process.h"
#include "noded/models/weight_store.h"

namespace kantha::noded {
namespace {

int fetch(int argc, char** argv) {
  FetchSpec spec{.urls = {}, .sha256 = argv[2]};
  for (int i = 3; i < argc; ++i) spec.urls.push_back(*parse_url(argv[i]));
  FetchSettings settings{.cache = argv[1], .spare_bytes = 0};
  settings.look_again = std::chrono::milliseconds(5);
  settings.retry.pause_first = settings.retry.pause_max = std::chrono::milliseconds(1);
  settings.download.window = std::chrono::milliseconds(100);
  settings.download.window_bytes_min = 1;
  WeightStore store(std::move(spec), std::move(settings), system_clock());
  store.start();
  while (true) {
    const WeightsState state = store.state();
    if (state.phase == WeightsPhase::kReady) return 0;
    if (state.phase == WeightsPhase::kFailed) {
      std::fprintf(stderr, "%s\n", state.message.c_str());
      return 3;
    }
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace
}  // namespace kantha::noded

int main(int argc, char** argv) {
  kantha::watch_lifeline();
  return argc < 4 ? 2 : kantha::noded::fetch(argc, argv);
}
