#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "noded/models/url.h"
#include "tests/base/net/loopback.h"

/// A server of one file on loopback that can cut, stall and lie, connection by connection.
namespace kantha::noded {

/// How one request is answered.
struct FileAnswer {
  int status = 200;                  ///< other than 200: only the fields, and `body`
  std::string fields = {};           ///< more header lines, each with its line end
  std::string etag = "\"one\"";      ///< empty: none
  bool takes_ranges = true;          ///< 206 to a request with a range
  bool ignores_if_range = false;     ///< gives the range although the validator is another one
  bool has_length = true;            ///< else the end of the connection ends the body
  std::size_t cut_after = SIZE_MAX;  ///< body bytes, then the connection is closed
  bool stalls = false;               ///< after cut_after: nothing more comes, and no end
  std::size_t pause_every = 0;       ///< body bytes between pauses of a millisecond; 0: none
  std::string body = {};             ///< instead of the file
};

/// One request as it came.
struct SeenRequest {
  std::string head;
  std::int64_t offset = 0;  ///< of its range; 0 without one
  std::string field(std::string_view name) const;
  std::string first_line() const { return head.substr(0, head.find("\r\n")); }
};

class FileServer {
 public:
  /// Says how to answer the request with that number (from 0). On the server's thread.
  using Plan = std::function<FileAnswer(const SeenRequest& request, int number)>;

  explicit FileServer(std::string content, Plan plan = {});

  Url url(const std::string& target = "/weights.gguf") const;
  std::vector<SeenRequest> requests() const;
  int request_count() const { return static_cast<int>(requests().size()); }

 private:
  void serve(net::RawPeer& peer, int number);

  std::string content_;
  Plan plan_;
  mutable std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::optional<net::ScriptedServer> server_;
};

/// Bytes that begin as GGUF weights do; the same for the same seed.
std::string fake_weights(std::size_t bytes, std::uint64_t seed = 1);

}  // namespace kantha::noded
