#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// Which requests should meet at one pod: those whose prompts begin alike. Pure; any thread.
namespace kantha::noded {

struct PromptKeyPolicy {
  /// Leading bytes of the prompt that decide. Longer ones would tell apart requests that share a
  /// system prompt and nothing else; KubeAI takes 100 characters.
  std::size_t prefix_bytes = 256;
  /// A shorter prompt has no key: less than a KV block or two is saved by meeting it warm.
  std::size_t prefix_bytes_min = 64;
  /// The prompt must begin within so many bytes of the body, so that a large body costs no more.
  std::size_t scan_bytes_max = std::size_t{256} << 10;
};

/// A number for the leading bytes of `messages` (chat) or `prompt` (completions) in the JSON text
/// of a request, salted with the tenant, since tenants share no KV blocks. Blanks between the parts
/// of the text do not count. No document is built: one pass over the bytes before the prompt and
/// its first bytes. Nothing: another path, no prompt, a short one, or no JSON (the engine says so).
std::optional<std::uint64_t> prompt_key(std::string_view path, std::string_view body,
                                        std::string_view tenant,
                                        const PromptKeyPolicy& policy = {});

/// 64 bits of a text; equal texts, equal bits, in every build.
std::uint64_t text_bits(std::string_view text);

}  // namespace kantha::noded
