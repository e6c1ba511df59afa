#pragma once

#include "base/result.h"
#include "engine/text/merge_table.h"
#include "engine/text/text_encoder.h"

namespace kantha::text {

/// The vocabulary's list of merges as a table of ids. kInvalidArgument names an entry that is not
/// two tokens which make a third. Merges into control tokens are left out: plain text must never
/// become one, whatever the file says.
Result<MergeTable> read_merges(const TokenTable& table);

}  // namespace kantha::text
