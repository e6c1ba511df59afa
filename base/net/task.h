#pragma once

// Asio 1.74 needs <utility> before it and these names to switch its coroutines on under Clang 19;
// every file that uses Asio includes this page first. The defines are set by the kantha_net target.
#include <utility>

#include <boost/asio/awaitable.hpp>

namespace kantha::net {

/// A coroutine on an Asio executor.
template <class T>
using Task = boost::asio::awaitable<T>;

}  // namespace kantha::net
