#include "operator/kube/cpprest_link.h"

#include <utility>

#include <cpprest/astreambuf.h>
#include <cpprest/http_client.h>
#include <openssl/ssl.h>
#include <pplx/threadpool.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

namespace kantha::kube {
namespace {

namespace http = web::http;
namespace streams = concurrency::streams;

/// Shared by all links of the process; none of their work blocks. The SDK splits a call into some
/// twenty tasks: with a second thread each of them wakes the other one.
constexpr std::size_t kThreads = 1;

/// The SDK would start forty threads at its first use.
void limit_threads() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      crossplat::threadpool::initialize_with_threads(kThreads);
    } catch (const std::exception&) {
      // Somebody else was first; then its number holds.
    }
  });
}

/// What OpenSSL took for the system's roots before they were hidden.
std::string& system_roots() {
  static std::string file;
  return file;
}

/// The SDK reads the system's roots for each connection, before it asks for ours: thirty
/// milliseconds of processor time for a bundle of the usual size. Where all roots are given it
/// shall find none. Once, and before the SDK has a thread.
void hide_system_roots() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* name = X509_get_default_cert_file_env();
    const char* file = std::getenv(name);
    system_roots() = file != nullptr ? file : X509_get_default_cert_file();
    ::setenv(name, "/dev/null", 1);
  });
}

/// Where the SDK writes an answer's body: a buffer that takes pieces one by one, each when the
/// sink has room, instead of the SDK's own, which grows without bound.
class SinkBuffer final : public streams::details::streambuf_state_manager<std::uint8_t> {
  using Base = streams::details::streambuf_state_manager<std::uint8_t>;

 public:
  explicit SinkBuffer(std::shared_ptr<CpprestSink> sink)
      : Base(std::ios_base::out), sink_(std::move(sink)) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return pos_type(off_type(-1)); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return pos_type(off_type(-1)); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return pos_type(off_type(-1));
  }
  bool acquire(std::uint8_t*&, std::size_t&) override { return false; }
  void release(std::uint8_t*, std::size_t) override {}

 protected:
  pplx::task<std::size_t> _putn(const std::uint8_t* bytes, std::size_t count) override {
    pplx::task_completion_event<std::size_t> taken;
    sink_->on_piece(std::string(reinterpret_cast<const char*>(bytes), count),
                    [taken, count] { taken.set(count); });
    return pplx::create_task(taken);
  }
  pplx::task<int_type> _putc(std::uint8_t byte) override {
    return _putn(&byte, 1).then([byte](std::size_t) { return static_cast<int_type>(byte); });
  }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  std::uint8_t* _alloc(std::size_t) override { return nullptr; }
  void _commit(std::size_t) override {}
  // Nobody reads here.
  pplx::task<int_type> _bumpc() override { return pplx::task_from_result(traits::eof()); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return pplx::task_from_result(traits::eof()); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return pplx::task_from_result(traits::eof()); }
  pplx::task<int_type> _ungetc() override { return pplx::task_from_result(traits::eof()); }
  pplx::task<std::size_t> _getn(std::uint8_t*, std::size_t) override {
    return pplx::task_from_result<std::size_t>(0);
  }
  std::size_t _scopy(std::uint8_t*, std::size_t) override { return 0; }

 private:
  std::shared_ptr<CpprestSink> sink_;
};

/// Only our own roots, our certificate, TLS 1.2 and newer. Settings were tried by
/// net::TlsContext before, so that nothing of this fails for its content.
void set_up_tls(boost::asio::ssl::context& context, const net::TlsClientSettings& settings) {
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  if (!settings.ca_pem.empty()) {
    // The SDK has put the system's roots into the old store.
    SSL_CTX_set_cert_store(context.native_handle(), X509_STORE_new());
    context.add_certificate_authority(boost::asio::buffer(settings.ca_pem));
  } else if (!system_roots().empty()) {
    // Without that file no server is trusted, as it was before.
    SSL_CTX_load_verify_locations(context.native_handle(), system_roots().c_str(), nullptr);
  }
  if (!settings.certificate_pem.empty()) {
    context.use_certificate_chain(boost::asio::buffer(settings.certificate_pem));
    context.use_private_key(boost::asio::buffer(settings.key_pem), boost::asio::ssl::context::pem);
  }
}

http::client::http_client_config config_of(const CpprestSettings& settings) {
  http::client::http_client_config config;
  config.set_timeout(std::chrono::duration_cast<std::chrono::milliseconds>(settings.idle_timeout));
  config.set_max_redirects(0);
  config.set_validate_certificates(!settings.tls.skip_verify);
  config.set_ssl_context_callback(
      [tls = settings.tls](boost::asio::ssl::context& context) { set_up_tls(context, tls); });
  return config;
}

/// Whether the message is of a time before the request's first byte was sent; the SDK gives no
/// other sign. Unknown words count as after, which is the careful guess.
bool is_before_sending(std::string_view message) {
  for (const std::string_view start : {"Failed to connect", "Error resolving address",
                                       "Error in SSL handshake", "Request canceled by user"}) {
    if (message.substr(0, start.size()) == start) return true;
  }
  return false;
}

http::http_request message_of(const net::HttpRequest& request, const std::string& host_header) {
  http::http_request message(request.method);
  message.set_request_uri(web::uri(request.target));
  if (!request.body.empty()) message.set_body(request.body, "application/json");
  for (const auto& [name, value] : request.headers.all()) {
    message.headers().remove(name);
    message.headers().add(name, value);
  }
  if (!host_header.empty()) message.headers().add("Host", host_header);
  return message;
}

/// Tells the sink of the answer's end, however it ends.
void watch_end(const http::http_response& response, const std::shared_ptr<CpprestSink>& sink) {
  response.content_ready().then([sink](const pplx::task<http::http_response>& end) {
    try {
      end.get();
      sink->on_end();
    } catch (const std::exception& error) {
      sink->on_failure(true, error.what());
    } catch (...) {
      sink->on_failure(true, "unknown failure");
    }
  });
}

void take_answer(const pplx::task<http::http_response>& answer,
                 const std::shared_ptr<CpprestSink>& sink) {
  try {
    const http::http_response response = answer.get();
    net::Headers headers;
    for (const auto& [name, value] : response.headers()) headers.add(name, value);
    sink->on_head(response.status_code(), std::move(headers));
    watch_end(response, sink);
  } catch (const std::exception& error) {
    sink->on_failure(!is_before_sending(error.what()), error.what());
  } catch (...) {
    sink->on_failure(true, "unknown failure");
  }
}

}  // namespace

struct CpprestLink::Body {
  http::client::http_client client;
  std::string host_header;
};

CpprestLink::CpprestLink(const CpprestSettings& settings) {
  if (!settings.tls.ca_pem.empty()) hide_system_roots();
  limit_threads();
  body_.reset(new Body{http::client::http_client(web::uri(settings.base_url), config_of(settings)),
                       settings.host_header});
}

CpprestLink::~CpprestLink() = default;

std::function<void()> CpprestLink::begin(const net::HttpRequest& request,
                                         std::shared_ptr<CpprestSink> sink) {
  const pplx::cancellation_token_source cancel;
  try {
    http::http_request message = message_of(request, body_->host_header);
    message.set_response_stream(
        streams::ostream(streams::streambuf<std::uint8_t>(std::make_shared<SinkBuffer>(sink))));
    body_->client.request(message, cancel.get_token())
        .then([sink](const pplx::task<http::http_response>& answer) { take_answer(answer, sink); });
  } catch (const std::exception& error) {
    sink->on_failure(false, error.what());
  }
  return [cancel] { cancel.cancel(); };
}

}  // namespace kantha::kube
