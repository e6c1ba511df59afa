#pragma once

#include <cstddef>

#include "engine/grammar/program.h"

/// States that one mask does for.
namespace kantha::grammar {

/// Sets `alike`: for each state of a program the first one that cannot be told from it by so many
/// bytes: of what may come, where rules are called and where they are over. The states of a long
/// count ("at most 500 characters") are all alike but for the last ones, since no token is that
/// long. And `near` of those, which by fewer bytes are like an earlier state: the last ones of a
/// count are like the first ones but for tokens that are longer than what is left. Where finding
/// out takes too long, states are near only. Pure.
void find_alike(Program& program, std::size_t bytes);

}  // namespace kantha::grammar
