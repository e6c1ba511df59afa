#include "base/messages_error.h"

#include <gtest/gtest.h>

#include <utility>

namespace kantha {
namespace {

TEST(MessagesError, HasAnthropicsTypeForEachStatus) {
  for (const auto& [status, type] :
       {std::pair{400, "invalid_request_error"}, std::pair{401, "authentication_error"},
        std::pair{403, "permission_error"}, std::pair{404, "not_found_error"},
        std::pair{405, "invalid_request_error"}, std::pair{413, "request_too_large"},
        std::pair{429, "rate_limit_error"}, std::pair{500, "api_error"},
        std::pair{502, "api_error"}, std::pair{503, "overloaded_error"},
        std::pair{504, "timeout_error"}}) {
    EXPECT_EQ(messages_error_type(status), type) << status;
  }
}

}  // namespace
}  // namespace kantha
