// Chooses the functions that a query means, of all that fit it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/trace/function_query.h"
#include "common/core/addresses.h"
#include "common/host/result.h"

namespace swipr::tracing {

struct Candidate {
  enum class Kind : std::uint8_t { kDefined, kIndirect, kImported };

  std::uint32_t module = 0;  // index, for the caller
  std::string file;          // short name of the module
  ImageAddr begin;
  std::string name;  // for people
  Fit fit = Fit::kWhole;
  Kind kind = Kind::kDefined;
};

struct Choice {
  std::vector<Candidate> functions;  // one of each address
  std::string note;                  // what will be missing; empty: nothing
};

// A name must mean one function, or its copies; a pattern may mean up to `most`.
// Errors: nothing fits (the message is empty: the caller knows why); several do; what fits is not a
// function that is called.
host::Result<Choice> choose_functions(const FunctionQuery& query,
                                      std::span<const Candidate> candidates, std::size_t most);

}  // namespace swipr::tracing
