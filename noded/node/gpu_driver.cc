#include "noded/node/gpu_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

#include "noded/node/nvml_abi.h"

namespace kantha::noded {
namespace {

constexpr unsigned kGpusMax = 64;
constexpr int kWaitMaxMs = 10'000;

using Text = std::array<char, nvml::kTextBytes>;

/// The functions of the library.
struct Functions {
  nvml::Return (*init)() = nullptr;
  nvml::Return (*shutdown)() = nullptr;
  const char* (*error_text)(nvml::Return) = nullptr;
  nvml::Return (*driver_version)(char*, unsigned) = nullptr;
  nvml::Return (*count)(unsigned*) = nullptr;
  nvml::Return (*by_index)(unsigned, nvml::Device*) = nullptr;
  nvml::Return (*uuid)(nvml::Device, char*, unsigned) = nullptr;
  nvml::Return (*name)(nvml::Device, char*, unsigned) = nullptr;
  nvml::Return (*pci)(nvml::Device, nvml::PciInfo*) = nullptr;
  nvml::Return (*memory)(nvml::Device, nvml::Memory*) = nullptr;
  nvml::Return (*new_set)(nvml::EventSet*) = nullptr;
  nvml::Return (*watch)(nvml::Device, unsigned long long, nvml::EventSet) = nullptr;
  nvml::Return (*wait)(nvml::EventSet, nvml::EventData*, unsigned) = nullptr;
  nvml::Return (*free_set)(nvml::EventSet) = nullptr;
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Functions& f) {
  return find(library, "nvmlInit_v2", f.init) && find(library, "nvmlShutdown", f.shutdown) &&
         find(library, "nvmlErrorString", f.error_text) &&
         find(library, "nvmlSystemGetDriverVersion", f.driver_version) &&
         find(library, "nvmlDeviceGetCount_v2", f.count) &&
         find(library, "nvmlDeviceGetHandleByIndex_v2", f.by_index) &&
         find(library, "nvmlDeviceGetUUID", f.uuid) && find(library, "nvmlDeviceGetName", f.name) &&
         find(library, "nvmlDeviceGetPciInfo_v3", f.pci) &&
         find(library, "nvmlDeviceGetMemoryInfo", f.memory) &&
         find(library, "nvmlEventSetCreate", f.new_set) &&
         find(library, "nvmlDeviceRegisterEvents", f.watch) &&
         find(library, "nvmlEventSetWait_v2", f.wait) &&
         find(library, "nvmlEventSetFree", f.free_set);
}

/// The text that `read` writes; empty when it fails. Ended here, whatever the library does.
template <class F>
std::string text_of(F read) {
  Text text = {};
  if (read(text.data(), nvml::kTextBytes) != nvml::kSuccess) return {};
  text.back() = '\0';
  return text.data();
}

}  // namespace

struct GpuDriver::Body {
  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() {
    if (events != nullptr) f.free_set(events);
    if (is_up) f.shutdown();
    if (library != nullptr) ::dlclose(library);
  }

  std::string words(nvml::Return code) const {
    const char* text = f.error_text(code);
    return text == nullptr ? "error " + std::to_string(code) : text;
  }
  void add_gpu(unsigned index);
  void watch_events();

  void* library = nullptr;
  Functions f;
  bool is_up = false;
  std::string version;
  std::vector<GpuFact> gpus;
  std::vector<nvml::Device> devices;
  nvml::EventSet events = nullptr;
};

void GpuDriver::Body::add_gpu(unsigned index) {
  nvml::Device device = nullptr;
  if (f.by_index(index, &device) != nvml::kSuccess) return;
  GpuFact fact;
  fact.uuid = text_of([&](char* to, unsigned size) { return f.uuid(device, to, size); });
  fact.name = text_of([&](char* to, unsigned size) { return f.name(device, to, size); });
  nvml::PciInfo pci = {};
  if (f.pci(device, &pci) == nvml::kSuccess) {
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    fact.pci_address = pci.bus_id;
  }
  nvml::Memory memory = {};
  if (f.memory(device, &memory) == nvml::kSuccess) {
    fact.memory_bytes = static_cast<std::int64_t>(memory.total);
  }
  gpus.push_back(std::move(fact));
  devices.push_back(device);
}

void GpuDriver::Body::watch_events() {
  if (f.new_set(&events) != nvml::kSuccess) {
    events = nullptr;
    return;
  }
  bool any = false;
  for (const nvml::Device device : devices) {
    any = f.watch(device, nvml::kXidCriticalError, events) == nvml::kSuccess || any;
  }
  if (any) return;
  f.free_set(events);
  events = nullptr;
}

GpuDriver::GpuDriver(std::unique_ptr<Body> body) : body_(std::move(body)) {}
GpuDriver::GpuDriver(GpuDriver&&) noexcept = default;
GpuDriver& GpuDriver::operator=(GpuDriver&&) noexcept = default;
GpuDriver::~GpuDriver() = default;

Result<GpuDriver> GpuDriver::open(const std::string& library) {
  auto body = std::make_unique<Body>();
  body->library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (body->library == nullptr) return not_found("no NVIDIA driver library (" + library + ")");
  if (!find_all(body->library, body->f)) {
    return Error{Code::kFailedPrecondition, library + " lacks a function; is the driver too old?"};
  }
  const nvml::Return up = body->f.init();
  if (up != nvml::kSuccess) {
    return Error{Code::kFailedPrecondition, library + ": " + body->words(up)};
  }
  body->is_up = true;
  body->version = text_of(body->f.driver_version);
  unsigned count = 0;
  if (body->f.count(&count) != nvml::kSuccess) count = 0;
  for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) body->add_gpu(i);
  body->watch_events();
  return GpuDriver(std::move(body));
}

const std::string& GpuDriver::version() const { return body_->version; }
const std::vector<GpuFact>& GpuDriver::gpus() const { return body_->gpus; }

Result<std::optional<GpuEvent>> GpuDriver::wait_event(int timeout_ms) {
  if (body_->events == nullptr) return unavailable("the driver reports no events");
  nvml::EventData data = {};
  const int bounded = std::clamp(timeout_ms, 0, kWaitMaxMs);
  const nvml::Return code = body_->f.wait(body_->events, &data, static_cast<unsigned>(bounded));
  if (code == nvml::kTimeout) return std::optional<GpuEvent>();
  if (code != nvml::kSuccess) return unavailable("driver events: " + body_->words(code));
  if ((data.type & nvml::kXidCriticalError) == 0) return std::optional<GpuEvent>();
  GpuEvent event;
  event.xid = static_cast<int>(data.data);
  for (std::size_t i = 0; i < body_->devices.size(); ++i) {
    if (body_->devices[i] == data.device) event.uuid = body_->gpus[i].uuid;
  }
  return std::optional<GpuEvent>(std::move(event));
}

}  // namespace kantha::noded
