#include "engine/cache/block_table.h"

#include <algorithm>
#include <utility>

namespace kantha::cache {

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  if (this != &other) {
    clear();
    pool_ = other.pool_;
    rows_ = std::move(other.rows_);
    first_held_ = std::exchange(other.first_held_, 0);
    other.rows_.clear();
  }
  return *this;
}

std::int32_t BlockTable::blocks_to_write(std::int32_t first_row, std::int32_t end_row) const {
  std::int32_t needed = std::max(0, end_row - size());
  for (std::int32_t row = first_row; row < std::min(end_row, size()); ++row) {
    if (!pool_->writable(ref(row))) ++needed;
  }
  return needed;
}

void BlockTable::make_writable(std::int32_t row, std::int32_t tokens,
                               std::vector<BlockCopy>& copies) {
  BlockRef& held = rows_[static_cast<std::size_t>(row)];
  if (pool_->writable(held)) return pool_->keep(held, tokens);
  BlockRef fresh = *pool_->take();
  pool_->filled(fresh, tokens);
  copies.push_back({.from = held.id(), .to = fresh.id()});
  held = std::move(fresh);
}

void BlockTable::start(std::int32_t first_held, std::int32_t rows) {
  CHECK(rows_.empty(), "started while empty");
  rows_.resize(static_cast<std::size_t>(rows));
  first_held_ = first_held;
}

void BlockTable::share(const BlockTable& other, std::int32_t first_held, std::int32_t rows) {
  CHECK(first_held >= other.first_held_ && rows <= other.size(), "the other one has these rows");
  start(first_held, rows);
  for (std::int32_t row = first_held; row < rows; ++row) put(row, pool_->share(other.ref(row)));
}

void BlockTable::drop_before(std::int32_t row) {
  for (; first_held_ < std::min(row, size()); ++first_held_) {
    rows_[static_cast<std::size_t>(first_held_)].reset();
  }
}

void BlockTable::pop() {
  rows_.pop_back();
  first_held_ = std::min(first_held_, size());
}

void BlockTable::clear() {
  while (!rows_.empty()) pop();
}

}  // namespace kantha::cache
