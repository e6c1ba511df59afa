#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/gateway/engine_port.h"
#include "engine/grammar/grammar_cache.h"
#include "engine/serve/model_dialect.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"

namespace kantha::serve {

/// A model that is loaded and runs: what the request handlers need of it. Immutable after boot; the
/// I/O thread and the text worker read it at the same time.
struct ServedModel {
  std::string name;          ///< id in the API
  std::int64_t created = 0;  ///< Unix seconds
  std::string fingerprint;   ///< "kantha-<version>-<first digits of the configuration's hash>"
  text::Tokenizer tokenizer;
  std::optional<text::ChatTemplate> chat_template;  ///< absent: chat requests are refused
  ModelDialect dialect = {};
  /// The engine, and with it whatever it borrows from (mapped weights). Its end stops the engine.
  std::shared_ptr<gateway::EnginePort> engine;
  /// What answers have been asked to look like.
  std::shared_ptr<grammar::GrammarCache> grammars = std::make_shared<grammar::GrammarCache>();
};

}  // namespace kantha::serve
