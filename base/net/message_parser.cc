#include "base/net/message_parser.h"

// Asio's page first: see task.h.
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include "base/net/task.h"

namespace kantha::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast::error_code;

/// What a parser has seen so far.
struct Message {
  MessageBounds bounds = {};
  std::string method = {};
  std::string target = {};
  int status = 0;
  Headers headers = {};
  std::string body = {};
  std::size_t chunk_count = 0;
  bool head_done = false;
};

/// Beast's parser with this message as its sink.
template <bool kIsRequest>
class Sink final : public http::basic_parser<kIsRequest> {
 public:
  explicit Sink(Message& message) : message_(message) {}

 private:
  void on_request_impl(http::verb, beast::string_view method, beast::string_view target, int,
                       error_code&) override {
    message_.method.assign(method.data(), method.size());
    message_.target.assign(target.data(), target.size());
  }
  void on_response_impl(int code, beast::string_view, int, error_code&) override {
    message_.status = code;
  }
  void on_field_impl(http::field, beast::string_view name, beast::string_view value,
                     error_code& ec) override {
    if (message_.head_done) return;
    if (message_.headers.all().size() >= message_.bounds.header_count_max) {
      ec = http::error::header_limit;
      return;
    }
    message_.headers.add({name.data(), name.size()}, {value.data(), value.size()});
  }
  void on_header_impl(error_code&) override { message_.head_done = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view piece, error_code&) override {
    message_.body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code& ec) override {
    if (++message_.chunk_count > message_.bounds.chunk_count_max) ec = http::error::body_limit;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view piece, error_code&) override {
    message_.body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_finish_impl(error_code&) override {}

  Message& message_;
};

template <bool kIsRequest>
void set_bounds(Sink<kIsRequest>& sink, const MessageBounds& bounds) {
  sink.eager(true);
  sink.header_limit(static_cast<std::uint32_t>(bounds.head_bytes_max));
  // Never boost::none: Beast 1.74 compares lengths with it as if it were below zero.
  sink.body_limit(bounds.body_bytes_max);
}

Error parse_error(const error_code& ec, const Message& message) {
  if (ec == http::error::header_limit) {
    return {Code::kOutOfRange, "header fields are over the limit of " +
                                   std::to_string(message.bounds.head_bytes_max) + " bytes or " +
                                   std::to_string(message.bounds.header_count_max) + " fields"};
  }
  if (ec == http::error::body_limit) {
    if (message.chunk_count > message.bounds.chunk_count_max) {
      return {Code::kOutOfRange,
              "body has more than " + std::to_string(message.bounds.chunk_count_max) + " chunks"};
    }
    return {Code::kOutOfRange, "body is over the limit of " +
                                   std::to_string(message.bounds.body_bytes_max) + " bytes"};
  }
  return invalid_argument("malformed HTTP message: " + ec.message());
}

}  // namespace

struct MessageParser::Body {
  MessageKind kind;
  Message message;
  Sink<true> request{message};
  Sink<false> response{message};

  bool is_request() const { return kind == MessageKind::kRequest; }
};

MessageParser::MessageParser(MessageKind kind, MessageBounds bounds)
    : body_(new Body{.kind = kind, .message = {.bounds = bounds}}) {
  set_bounds(body_->request, bounds);
  set_bounds(body_->response, bounds);
  body_->response.skip(kind == MessageKind::kResponseToHead);
}

MessageParser::~MessageParser() = default;

Result<std::size_t> MessageParser::feed(std::string_view bytes) {
  CHECK(!done() && !bytes.empty(), "feed after the end, or of nothing");
  error_code ec;
  const boost::asio::const_buffer buffer(bytes.data(), bytes.size());
  const std::size_t used =
      body_->is_request() ? body_->request.put(buffer, ec) : body_->response.put(buffer, ec);
  if (ec && ec != http::error::need_more) return parse_error(ec, body_->message);
  return used;
}

Status MessageParser::feed_end() {
  if (done()) return ok_status();
  const bool has_started =
      body_->is_request() ? body_->request.got_some() : body_->response.got_some();
  if (!has_started) return data_loss("connection closed before the message");
  error_code ec;
  if (body_->is_request()) {
    body_->request.put_eof(ec);
  } else {
    body_->response.put_eof(ec);
  }
  if (ec) return data_loss("connection closed in the middle of a message");
  return ok_status();
}

bool MessageParser::head_done() const { return body_->message.head_done; }

bool MessageParser::done() const {
  return body_->is_request() ? body_->request.is_done() : body_->response.is_done();
}

bool MessageParser::keep_alive() const {
  CHECK(head_done());
  return body_->is_request() ? body_->request.keep_alive() : body_->response.keep_alive();
}

const std::string& MessageParser::method() const { return body_->message.method; }
const std::string& MessageParser::target() const { return body_->message.target; }
int MessageParser::status() const { return body_->message.status; }
Headers& MessageParser::headers() { return body_->message.headers; }
std::string MessageParser::take_body() { return std::exchange(body_->message.body, {}); }

}  // namespace kantha::net
