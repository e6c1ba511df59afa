#pragma once

// What most tests include beside precompiled.h, and the same rule (option KANTHA_PCH).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
