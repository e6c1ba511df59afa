#pragma once

/// The part of NVML's binary interface that gpu_driver uses (NVML API reference, "Device Queries"
/// and "Event Handling Methods"). Layouts are those of the versioned functions named here.
namespace kantha::noded::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kTimeout = 10;
inline constexpr unsigned long long kXidCriticalError = 0x8;
inline constexpr unsigned kTextBytes = 96;

using Device = void*;
using EventSet = void*;

/// nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

/// nvmlMemory_t of nvmlDeviceGetMemoryInfo.
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// nvmlEventData_t of nvmlEventSetWait_v2.
struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace kantha::noded::nvml
