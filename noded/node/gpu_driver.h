#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

/// NVIDIA's management library, opened at run time: a machine without it is a fact, not an error.
namespace kantha::noded {

struct GpuFact {
  std::string uuid;
  std::string name;
  std::string pci_address;  ///< as the driver spells it
  std::int64_t memory_bytes = 0;
};

/// An Xid that the driver reported.
struct GpuEvent {
  std::string uuid;  ///< empty when the driver does not say which GPU, or the GPU is lost
  int xid = 0;
};

/// One open library. One thread at a time.
class GpuDriver {
 public:
  /// kNotFound when there is no library; kFailedPrecondition when it has no driver below it, or
  /// lacks a function; both with the reason.
  static Result<GpuDriver> open(const std::string& library = "libnvidia-ml.so.1");
  GpuDriver(GpuDriver&&) noexcept;
  GpuDriver& operator=(GpuDriver&&) noexcept;
  ~GpuDriver();

  const std::string& version() const;
  /// GPUs that this process may see, in the driver's order. One that does not answer has what it
  /// told before it fell silent.
  const std::vector<GpuFact>& gpus() const;
  /// The next Xid of any of them within the time (at most 10 s); nullopt when none came.
  /// kUnavailable when the driver cannot report events (any more).
  Result<std::optional<GpuEvent>> wait_event(int timeout_ms);

 private:
  struct Body;
  explicit GpuDriver(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::noded
