#include "noded/gateway/headed_writer.h"

namespace kantha::noded {

void HeadedWriter::put_fields(net::Headers& headers) const {
  for (const auto& [name, value] : fields_.all()) headers.set(name, value);
}

net::Task<Status> HeadedWriter::send(net::HttpResponse response) {
  put_fields(response.headers);
  status_ = response.status;
  bytes_ += static_cast<std::int64_t>(response.body.size());
  return client_.send(std::move(response));
}

net::Task<Status> HeadedWriter::start(int status, net::Headers headers) {
  put_fields(headers);
  status_ = status;
  return client_.start(status, std::move(headers));
}

net::Task<Status> HeadedWriter::write(std::string bytes) {
  bytes_ += static_cast<std::int64_t>(bytes.size());
  return client_.write(std::move(bytes));
}

}  // namespace kantha::noded
