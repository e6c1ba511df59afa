#include "base/net/client_exchange.h"

#include <utility>

namespace kantha::net {
namespace {

/// Interim answers before the real one.
constexpr int kInterimAnswersMax = 8;
/// Longest chunk header or trailer that we wait for the end of.
constexpr std::size_t kChunkHeadBytesMax = 8u << 10;
constexpr MessageBounds kAnswerBounds = {
    // Bytes that a lying peer may make us count up to; call() bounds what is kept.
    .head_bytes_max = 64u << 10,
    .header_count_max = 256,
    .body_bytes_max = UINT64_MAX};

Error cancelled() { return {Code::kCancelled, "the exchange was cancelled"}; }

std::unique_ptr<MessageParser> new_parser(MessageKind kind) {
  return std::make_unique<MessageParser>(kind, kAnswerBounds);
}

}  // namespace

ClientExchange::ClientExchange(TimedSocket socket, std::string peer,
                               std::weak_ptr<ConnectionPool> pool, bool is_head_request)
    : socket_(std::move(socket)),
      peer_(std::move(peer)),
      pool_(std::move(pool)),
      kind_(is_head_request ? MessageKind::kResponseToHead : MessageKind::kResponse),
      parser_(new_parser(kind_)),
      written_before_(socket_.bytes_written()) {}

Task<Status> ClientExchange::begin(std::shared_ptr<ClientExchange> self, std::string wire,
                                   TimePoint deadline) {
  const Status sent =
      co_await self->socket_.write_all(std::move(wire), std::chrono::hours(24), deadline);
  const bool may_be_refusal = !sent && sent.error().code == Code::kUnavailable;
  if (self->is_cancelled_) co_return cancelled();
  if (!sent && !may_be_refusal) co_return sent;
  // A server that refuses a long body answers and stops reading: its answer may still be there.
  Status head = co_await self->read_head(deadline);
  if (self->is_cancelled_) co_return cancelled();
  if (head) co_return head;
  if (!sent) co_return sent;
  const bool is_lost = head.error().code == Code::kUnavailable;
  if (is_lost) co_return data_loss("the request was taken, but " + head.error().message);
  co_return head;
}

Task<Status> ClientExchange::read_head(TimePoint deadline) {
  for (int i = 0; i < kInterimAnswersMax; ++i) {
    while (!parser_->head_done()) CO_TRY_OK(co_await advance(deadline));
    if (status() >= 200) co_return ok_status();
    parser_ = new_parser(kind_);
    if (!buffer_.empty()) CO_TRY_OK(parse_buffer());
  }
  co_return data_loss("too many interim answers");
}

Task<Status> ClientExchange::advance(TimePoint deadline) {
  Result<std::string> bytes = co_await socket_.read_some(deadline);
  if (is_cancelled_) co_return cancelled();
  if (!bytes) {
    const bool is_cut = bytes.error().code == Code::kUnavailable && has_received_bytes_;
    if (is_cut) co_return data_loss("connection failed in the middle of the answer");
    co_return std::move(bytes).error();
  }
  if (bytes->empty()) {
    if (!has_received_bytes_) co_return unavailable("the peer closed without an answer");
    co_return parser_->feed_end();
  }
  has_received_bytes_ = true;
  buffer_ += *bytes;
  co_return parse_buffer();
}

Status ClientExchange::parse_buffer() {
  while (!buffer_.empty() && !parser_->done()) {
    const Result<std::size_t> used = parser_->feed(buffer_);
    if (!used && used.error().code == Code::kOutOfRange) return used.error();
    if (!used) return data_loss(used.error().message);
    buffer_.erase(0, *used);
    if (*used == 0) break;
  }
  const bool is_stuck = parser_->head_done() && !parser_->done();
  if (is_stuck && buffer_.size() > kChunkHeadBytesMax) {
    return data_loss("chunk header or trailer is too long");
  }
  return ok_status();
}

Task<Result<std::string>> ClientExchange::read(std::shared_ptr<ClientExchange> self,
                                               Duration idle_timeout) {
  if (self->is_cancelled_) co_return cancelled();
  while (true) {
    std::string piece = self->parser_->take_body();
    if (self->parser_->done()) self->release();
    if (!piece.empty() || self->has_ended_) co_return piece;
    const Status advanced = co_await self->advance(deadline_after(idle_timeout));
    if (!advanced) {
      // After a pause that was too long the reader may come back; after the rest it may not.
      if (advanced.error().code != Code::kDeadlineExceeded) self->socket_.close();
      co_return advanced.error();
    }
  }
}

void ClientExchange::release() {
  if (std::exchange(has_ended_, true)) return;
  const auto pool = pool_.lock();
  if (pool && parser_->keep_alive() && buffer_.empty()) {
    pool->put(peer_, std::move(socket_));
  } else {
    socket_.close();
  }
}

void ClientExchange::cancel() {
  is_cancelled_ = true;
  if (!has_ended_) socket_.close();
}

}  // namespace kantha::net
