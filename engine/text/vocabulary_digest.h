#pragma once

#include <string>

#include "engine/text/vocabulary.h"

namespace kantha::text {

/// SHA-256, as lower-case hex, of all that decides which ids a text gets and how a conversation is
/// written: two engines whose digests differ tokenise differently, whatever their files are called.
/// A few milliseconds for a quarter of a million tokens. Any thread.
std::string vocabulary_digest(const Vocabulary& vocabulary);

}  // namespace kantha::text
