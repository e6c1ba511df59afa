#pragma once

#include "base/result.h"
#include "engine/model/architectures.h"
#include "engine/model/gguf_file.h"
#include "engine/model/llama_model.h"
#include "engine/model/tensor_table.h"

/// From a parsed GGUF file to the model it describes.
namespace kantha::model {

/// The row of general.architecture. kUnimplemented for an unknown one, by name.
Result<const ArchitectureTraits*> architecture_of_gguf(const GgufMetadata& metadata);

/// Reads the architecture's keys. Every value is held to a range; whatever would change the
/// arithmetic and is not implemented (experts, dynamic rope scaling, any key under the
/// architecture's prefix that we do not know) is kUnimplemented by name; missing or absurd values
/// are kDataLoss. What rope factor tensors say is added by llama_from_gguf.
Result<LlamaConfig> llama_config_from_gguf(const GgufMetadata& metadata);

/// Config and weights, with every tensor's shape checked against the config. A missing
/// output.weight means that the output is tied to the embedding. A tensor that has no place in the
/// architecture is kUnimplemented by name. The views borrow what `file` borrows.
Result<LlamaModel> llama_from_gguf(const GgufFile& file);

/// Names of a layer's parts and of the whole model's, as one kind of file spells them.
struct TensorNames {
  std::string_view embedding, output, output_norm;
  std::string_view layer;  ///< "blk.{}."
  std::string_view attention_norm, q, k, v, qkv, o, q_norm, k_norm, post_attention_norm;
  std::string_view ffn_norm, gate, up, gate_up, down, post_ffn_norm;
};

/// How a model's tensors are to be found.
struct TensorSource {
  const ArchitectureTraits& traits;
  const TensorNames& names;
  float norm_offset = 0;  ///< added to norm weights
};

/// Takes everything that model.config and the architecture ask for out of the table into `model`;
/// output is left empty where the table has none. kDataLoss names a missing or misshapen tensor.
Status take_weights(TensorTable& table, const TensorSource& source, LlamaModel& model);

}  // namespace kantha::model
