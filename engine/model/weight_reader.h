#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/load_model.h"
#include "engine/model/read_ahead.h"

/// How a model's weights come out of its mapped files while they are packed.
namespace kantha::model {

/// Reads ahead of the packing and gives back behind it, so that a model is in memory once. Of one
/// packing; the calls are those of exec::ForwardOptions.
class WeightReader {
 public:
  using Bytes = std::span<const std::byte>;

  explicit WeightReader(const LoadedModel& model);

  /// These bytes will be copied, in about this order: reading begins. Once.
  void begin(std::vector<Bytes> order);
  /// These were copied. Any thread.
  void release(Bytes copied);
  /// All were copied: reading ends, and what was brought too late is given back.
  void end();

 private:
  void fetch(Bytes bytes) const;
  void give_back(Bytes bytes) const;

  std::vector<std::shared_ptr<const ModelFile>> files_;
  std::vector<Bytes> order_;
  std::optional<ReadAhead> ahead_;  ///< borrows from the others
};

}  // namespace kantha::model
