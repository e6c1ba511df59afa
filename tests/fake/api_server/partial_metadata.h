#pragma once

#include "base/net/http.h"

/// PartialObjectMetadata, for both faces of the fake API server. Any thread.
namespace kantha::fake {

/// What a server gives to who asks for an object's metadata alone; other answers stay as they are.
void keep_metadata(const net::HttpRequest& request, net::HttpResponse& answer);

}  // namespace kantha::fake
