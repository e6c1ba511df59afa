#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/net/http_client.h"
#include "noded/models/answer_rules.h"
#include "noded/models/part_file.h"
#include "noded/models/proxy_rules.h"
#include "noded/models/retry_rules.h"
#include "noded/models/url.h"

/// One attempt to bring (the rest of) a file from one address into a part file.
///
/// Flow: ask for what is missing → follow up to five redirects → judge the answer (answer_rules) →
/// judge the first bytes (content_rules) → append as bytes come. Guarantees: what is there is only
/// given up for a file whose beginning looks like weights; the attempt ends when a window of time
/// brings too few bytes, however long the whole takes. One executor.
namespace kantha::noded {

struct DownloadSettings {
  Duration header_timeout = std::chrono::seconds(30);
  /// An attempt ends when so much time brings less than that.
  Duration window = std::chrono::seconds(30);
  std::int64_t window_bytes_min = 64 << 10;
  ProxyRules proxies = {};
  /// For https; nullptr: the system's roots.
  std::shared_ptr<const net::TlsContext> tls = {};
};

/// What to bring, and who is told of it.
struct DownloadJob {
  Url url;
  FileAsk ask;
  /// False ends the attempt.
  std::function<bool()> go_on;
  /// Before the first byte: how many bytes will be written. An error ends the attempt;
  /// kResourceExhausted as kNoSpace.
  std::function<Status(std::int64_t missing)> make_room;
  /// From now on the part holds bytes of this file: the first of them look right.
  std::function<Status(const PartNote& note)> accept;
  /// Bytes that the part holds now.
  std::function<void(std::int64_t done)> moved;
};

struct DownloadEnd {
  AttemptEnd end = AttemptEnd::kRetry;
  std::string why = {};    ///< for people, unless complete
  bool progress = false;   ///< new bytes came
  Duration retry_after{};  ///< as the server asked
};

class Download {
 public:
  /// `part` outlives it. job.ask.offset is taken from the part.
  Download(boost::asio::any_io_executor executor, const DownloadSettings& settings,
           const Clock& clock, DownloadJob job, PartFile& part);

  net::Task<DownloadEnd> run();
  /// Ends a run as soon as may be; executor's thread.
  void stop();

 private:
  using Stream = std::unique_ptr<net::ResponseStream>;
  net::Task<Result<Stream>> ask(Url url);
  net::Task<DownloadEnd> take(AnswerVerdict verdict, Stream stream);
  net::Task<DownloadEnd> pump(Stream stream, bool start_over);
  /// Decides on the first bytes of a file; then takes them, and empties `piece`.
  Status take_piece(std::string& piece, bool last);
  DownloadEnd end(AttemptEnd kind, std::string why) const;
  DownloadEnd end_of(const Error& error) const;

  boost::asio::any_io_executor executor_;
  const DownloadSettings& settings_;
  const Clock& clock_;
  DownloadJob job_;
  PartFile& part_;
  std::unique_ptr<net::HttpClient> client_;
  std::shared_ptr<net::CancelSignal> cancel_ = std::make_shared<net::CancelSignal>();
  net::ResponseStream* reading_ = nullptr;
  PartNote note_;            ///< of the file as the answer tells
  bool start_over_ = false;  ///< what the part holds goes when the new bytes look right
  std::int64_t bytes_new_ = 0;
};

}  // namespace kantha::noded
