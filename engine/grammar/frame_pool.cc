#include "engine/grammar/frame_pool.h"

#include <utility>

namespace kantha::grammar {

void FramePool::collect(std::vector<Item>& items) {
  FramePool kept;
  std::vector<FrameId> ids(first_.size(), kEnd);
  ids[kRoot] = kRoot;
  ids[kUnknown] = kUnknown;
  std::vector<FrameId> order;
  const auto id_of = [&](FrameId frame) {
    if (ids[frame] == kEnd) {
      ids[frame] = kept.open();
      order.push_back(frame);
    }
    return ids[frame];
  };
  for (Item& item : items) item.frame = id_of(item.frame);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for_each_return(order[i], [&](Item item) {
      item.frame = id_of(item.frame);
      kept.add_return(ids[order[i]], item);
    });
  }
  *this = std::move(kept);
}

}  // namespace kantha::grammar
