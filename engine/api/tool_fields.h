#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/result.h"
#include "engine/dialect/tool.h"

/// A chat request's functions: `tools`, `tool_choice`, `parallel_tool_calls`. Pure; any thread.
namespace kantha::api {

enum class ToolChoice : std::uint8_t {
  kNone,      ///< no function is called: the model does not hear of any
  kAuto,      ///< as the model likes
  kRequired,  ///< at least one
  kNamed,     ///< the one that is named
};

inline constexpr std::size_t kToolsMax = 128;
inline constexpr std::size_t kToolNameBytesMax = 128;
inline constexpr std::size_t kToolBytesMax = 256u << 10;  ///< of all of them as JSON

struct ToolFields {
  /// What the template sees: [{"type": "function", "function": {…}}, …] as the client wrote it;
  /// null when nothing may be called.
  OrderedJson listed = nullptr;
  dialect::SharedTools offered = {};  ///< the same functions; null when nothing may be called
  ToolChoice choice = ToolChoice::kNone;
  std::string named = {};  ///< of kNamed
  bool parallel = true;    ///< more than one call in an answer
};

/// kInvalidArgument with the path of the first fault: `tools[2].function.name`.
Result<ToolFields> read_tool_fields(const JsonFields& fields);

/// Gives the functions the client's own order of keys, which models see as they were trained and in
/// which schemas were written. `body` is the request as text, of any API with `tools`.
void keep_order(const std::string& body, ToolFields& tools);

}  // namespace kantha::api
