#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

/// What the requests of a load look like. Pure functions of (seed, index). Any thread.
namespace kantha::bench {

/// Tokens, both ends included.
struct LengthRange {
  int min = 0;
  int max = 0;
};

/// "128" or "64:256", at most 1,000,000. kInvalidArgument names `flag` and shows the text.
Result<LengthRange> parse_lengths(const std::string& flag, const std::string& text);

/// One request's size. A prompt is the prefix, then text that no other request has.
struct RequestShape {
  int prefix_index = -1;  ///< which shared prefix; -1: none
  int prefix_tokens = 0;
  int input_tokens = 0;  ///< of the whole prompt, prefix included
  int output_tokens = 0;
};

struct WorkloadOptions {
  std::string name = "random";
  std::optional<LengthRange> input = {};  ///< instead of the workload's own; after the prefix
  std::optional<LengthRange> output = {};
  int prefix_tokens = 600;  ///< shared-prefix
  int prefix_count = 1;
  std::uint64_t seed = 0;
};

/// Half short, half long: two lognormal parts, the first with probability `weight`, each with its
/// median and the sigma of the logarithm; values are rounded and kept within the range.
struct LengthLaw {
  double weight = 0;
  double median = 0;
  double sigma = 0;
  double other_median = 0;
  double other_sigma = 0;
  LengthRange range = {};
};
/// Conversations as in ShareGPT, with the same law as `kantha sim`. The means are those of Kwon et
/// al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (SOSP
/// 2023), figure 11: 161.31 tokens in, 337.99 out; the parts are our choice: three of four prompts
/// are a question, the rest carry a pasted text; two of five answers are short.
inline constexpr LengthLaw kShareGptInput = {0.75, 25, 1.0, 385, 0.8, {4, 2048}};
inline constexpr LengthLaw kShareGptOutput = {0.40, 40, 1.0, 435, 0.6, {1, 2048}};

/// The workloads' names, in the order of the documentation.
const std::vector<std::string>& workload_names();

/// kInvalidArgument that lists the known names.
Status check_workload(const WorkloadOptions& options);

/// The index-th request's size.
RequestShape request_shape(const WorkloadOptions& options, std::uint64_t index);

/// Makes a shape fit a server's window: first the output is cut, to no less than 1, then the input.
/// True when anything had to be cut. window <= 0: not known, everything fits.
bool fit_to_window(RequestShape& shape, int window);

}  // namespace kantha::bench
