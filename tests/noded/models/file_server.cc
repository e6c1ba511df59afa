#include "tests/noded/models/file_server.h"

#include <poll.h>

#include <algorithm>

#include "base/net/ascii.h"
#include "base/net/http.h"
#include "base/rng.h"

namespace kantha::noded {
namespace {

void send_body(net::RawPeer& peer, std::string_view body, const FileAnswer& answer) {
  body = body.substr(0, answer.cut_after);
  const std::size_t step = answer.pause_every == 0 ? 1u << 20 : answer.pause_every;
  for (std::size_t at = 0; at < body.size(); at += step) {
    if (!peer.send(body.substr(at, step))) return;
    if (answer.pause_every > 0) ::poll(nullptr, 0, 1);
  }
  if (answer.stalls) (void)peer.sees_end();
}

}  // namespace

std::string SeenRequest::field(std::string_view name) const {
  std::size_t at = head.find("\r\n");
  while (at != head.npos && at + 2 < head.size()) {
    const std::string line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const std::size_t colon = line.find(": ");
    if (colon != line.npos && net::equals_ignoring_case(line.substr(0, colon), name)) {
      return line.substr(colon + 2);
    }
    at = head.find("\r\n", at + 2);
  }
  return {};
}

FileServer::FileServer(std::string content, Plan plan)
    : content_(std::move(content)), plan_(std::move(plan)) {
  server_.emplace([this](net::RawPeer& peer, int number) { serve(peer, number); });
}

Url FileServer::url(const std::string& target) const {
  return {.is_tls = false, .host = "127.0.0.1", .port = server_->endpoint().port, .target = target};
}

std::vector<SeenRequest> FileServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return seen_;
}

void FileServer::serve(net::RawPeer& peer, int number) {
  SeenRequest request{.head = peer.read_until("\r\n\r\n")};
  const std::string range = request.field("range");
  if (range.starts_with("bytes=")) request.offset = std::stoll(range.substr(6));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    seen_.push_back(request);
  }
  const FileAnswer answer = plan_ ? plan_(request, number) : FileAnswer{};
  std::string body = answer.body.empty() && answer.status == 200 ? content_ : answer.body;
  const std::string total = std::to_string(body.size());
  std::string head = answer.fields;
  int status = answer.status;
  const std::string if_range = request.field("if-range");
  const bool fits = answer.ignores_if_range || if_range.empty() || if_range == answer.etag;
  if (status == 200 && request.offset > 0 && answer.takes_ranges && fits) {
    const auto offset = static_cast<std::size_t>(request.offset);
    status = offset < body.size() ? 206 : 416;
    head += "Content-Range: bytes " +
            (status == 416 ? std::string("*")
                           : std::to_string(offset) + "-" + std::to_string(body.size() - 1)) +
            "/" + total + "\r\n";
    body.erase(0, offset);
  }
  if (!answer.etag.empty()) head += "ETag: " + answer.etag + "\r\n";
  if (answer.has_length) head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  if (!peer.send("HTTP/1.1 " + std::to_string(status) + " " +
                 std::string(net::reason_phrase(status)) + "\r\n" + head +
                 "Connection: close\r\n\r\n")) {
    return;
  }
  send_body(peer, body, answer);
}

std::string fake_weights(std::size_t bytes, std::uint64_t seed) {
  std::string out("GGUF\x03\0\0\0", 8);
  for (std::uint64_t i = 0; out.size() < bytes; ++i) {
    const std::uint64_t word = random_bits(seed, i);
    out.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  out.resize(bytes);
  return out;
}

}  // namespace kantha::noded
