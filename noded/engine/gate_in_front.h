#pragma once

#include "noded/engine/engine_gate.h"

namespace kantha::noded {

/// An engine gate in front of another one: it decides when the engine is ready, and the one behind
/// it answers everything else. One executor; the gate behind must outlive it.
class GateInFront : public EngineGate {
 public:
  explicit GateInFront(EngineGate& engine) : engine_(engine) {}

  void suspect() override { engine_.suspect(); }
  net::Endpoint endpoint() const override { return engine_.endpoint(); }
  bool was_ready() const override { return engine_.was_ready(); }
  EngineEnds ends() const override { return engine_.ends(); }

 protected:
  EngineGate& engine_;
};

}  // namespace kantha::noded
