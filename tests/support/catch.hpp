// The one place that knows which Catch2 is installed: Debian 12 ships version 2, newer systems version 3.
#pragma once
#ifdef ATTNPROF_CATCH2_V3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
namespace Catch {
using Detail::Approx;
}
#endif
