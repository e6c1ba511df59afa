#include "engine/model/weight_reader.h"

#include <utility>

#include "engine/model/model_file.h"

namespace kantha::model {

WeightReader::WeightReader(const LoadedModel& model) : files_(model.shards) {
  if (model.file != nullptr) files_.push_back(model.file);
}

void WeightReader::begin(std::vector<Bytes> order) {
  order_ = std::move(order);
  ahead_.emplace(order_, [this](Bytes bytes) { fetch(bytes); });
}

void WeightReader::release(Bytes copied) {
  give_back(copied);
  if (ahead_) ahead_->advance(copied.size());
}

void WeightReader::end() {
  ahead_.reset();
  for (const Bytes& bytes : order_) give_back(bytes);
  order_.clear();
}

// Each file leaves alone what is not its own.
void WeightReader::fetch(Bytes bytes) const {
  for (const auto& file : files_) file->fetch(bytes);
}
void WeightReader::give_back(Bytes bytes) const {
  for (const auto& file : files_) file->release(bytes);
}

}  // namespace kantha::model
