#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What a model's output means, in pieces as it is generated. Plain data.
namespace kantha::dialect {

/// A stretch of one tool call. `id` and `name` come once, with the call's first stretch.
struct CallDelta {
  std::int32_t index = 0;  ///< which call of the answer, from 0
  std::string id = {};
  std::string name = {};
  /// The next part of the arguments' text. All parts joined are what the model wrote as arguments:
  /// a JSON object, unless the model was cut or wrote something else.
  std::string arguments = {};
};

/// What some bytes of output added. The parts of one kind join to that kind's whole text; a call
/// has at most one entry.
struct Parsed {
  std::string reasoning = {};
  std::string content = {};
  std::vector<CallDelta> calls = {};

  bool empty() const { return reasoning.empty() && content.empty() && calls.empty(); }
  /// The entry of call `index`, made when there is none.
  CallDelta& call(std::int32_t index);
  /// Adds what came after.
  void append(Parsed later);
};

}  // namespace kantha::dialect
