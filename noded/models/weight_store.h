#pragma once

#include <memory>
#include <string>

#include "noded/models/weight_fetch.h"

namespace kantha::noded {

/// A WeightFetch on a thread of its own, because digests and disks would stall the pod's: health
/// pages answer meanwhile. Start it once; state() from any thread, the rest from its owner's.
class WeightStore {
 public:
  WeightStore(FetchSpec spec, FetchSettings settings, const Clock& clock);
  /// Ends the fetch, joins its thread, and lets the file go.
  ~WeightStore();

  void start();
  WeightsState state() const;
  bool is_ready() const { return state().phase == WeightsPhase::kReady; }
  /// Where the file is, or will be.
  const std::string& file() const { return file_; }

 private:
  struct Body;
  std::string file_;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::noded
