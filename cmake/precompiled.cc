// Gives cmake/precompiled.h a target that others can share it from.
