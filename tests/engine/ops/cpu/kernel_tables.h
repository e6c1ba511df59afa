#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "engine/ops/cpu/cpu_features.h"

namespace kantha::ops::cpu {

/// The tables that this machine can run; says aloud which it cannot.
inline std::vector<const KernelTable*> runnable_tables() {
  std::vector<const KernelTable*> tables;
  for (const char* name : {"avx2", "avx512"}) {
    auto table = choose_kernels(detect_cpu_features(), name);
    if (table.ok()) {
      tables.push_back(*table);
    } else {
      std::cerr << "NOT TESTED HERE: " << name << ": " << table.error().message << "\n";
    }
  }
  return tables;
}

inline std::string table_name(const testing::TestParamInfo<const KernelTable*>& info) {
  return info.param->name;
}

/// A test that runs on each table.
class EachTable : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& kernels() const { return *GetParam(); }
};

}  // namespace kantha::ops::cpu
