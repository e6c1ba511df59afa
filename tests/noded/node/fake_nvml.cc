// A libnvidia-ml.so.1 for tests: two GPUs, and the Xids that KANTHA_FAKE_XIDS lists ("13,79").
// KANTHA_FAKE_NVML_DOWN makes its start fail.
#include <cstdlib>
#include <cstring>
#include <string>

#include "noded/node/nvml_abi.h"

namespace nvml = kantha::noded::nvml;

namespace {

int marks[2];  // their addresses are the devices' handles
std::string xids;

nvml::Return put(const std::string& text, char* to, unsigned size) {
  std::strncpy(to, text.c_str(), size);
  return nvml::kSuccess;
}
int index_of(nvml::Device device) { return device == &marks[0] ? 0 : 1; }

}  // namespace

extern "C" {

nvml::Return nvmlInit_v2() {
  const char* list = std::getenv("KANTHA_FAKE_XIDS");
  xids = list == nullptr ? "" : list;
  return std::getenv("KANTHA_FAKE_NVML_DOWN") == nullptr ? nvml::kSuccess : 9;
}
nvml::Return nvmlShutdown() { return nvml::kSuccess; }
const char* nvmlErrorString(nvml::Return code) {
  return code == 9 ? "Driver Not Loaded" : "Unknown Error";
}
nvml::Return nvmlSystemGetDriverVersion(char* to, unsigned size) {
  return put("600.12.34", to, size);
}
nvml::Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return nvml::kSuccess;
}
nvml::Return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* device) {
  *device = &marks[index];
  return nvml::kSuccess;
}
nvml::Return nvmlDeviceGetUUID(nvml::Device device, char* to, unsigned size) {
  return put("GPU-" + std::to_string(index_of(device)), to, size);
}
nvml::Return nvmlDeviceGetName(nvml::Device, char* to, unsigned size) {
  return put(std::string(300, 'x'), to, size);  // longer than the space, and without an end
}
nvml::Return nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* info) {
  return put(index_of(device) == 0 ? "00000000:17:00.0" : "00000000:CA:00.0", info->bus_id,
             sizeof info->bus_id);
}
nvml::Return nvmlDeviceGetMemoryInfo(nvml::Device, nvml::Memory* memory) {
  memory->total = 150ull << 30;
  return nvml::kSuccess;
}
nvml::Return nvmlEventSetCreate(nvml::EventSet* set) {
  *set = &xids;
  return nvml::kSuccess;
}
nvml::Return nvmlDeviceRegisterEvents(nvml::Device, unsigned long long, nvml::EventSet) {
  return nvml::kSuccess;
}
nvml::Return nvmlEventSetWait_v2(nvml::EventSet, nvml::EventData* data, unsigned) {
  if (xids.empty()) return nvml::kTimeout;
  *data = {.device = &marks[1],
           .type = nvml::kXidCriticalError,
           .data = std::strtoull(xids.c_str(), nullptr, 10),
           .gpu_instance = 0,
           .compute_instance = 0};
  const std::size_t comma = xids.find(',');
  xids = comma == std::string::npos ? "" : xids.substr(comma + 1);
  return nvml::kSuccess;
}
nvml::Return nvmlEventSetFree(nvml::EventSet) { return nvml::kSuccess; }
}
