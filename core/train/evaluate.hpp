// The loss on held-out samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/data_set.hpp"
#include "engine/pipe.hpp"

namespace switchyard {

struct Evaluation {
  double loss = 0;         // mean over valid targets; nats for cross-entropy
  std::int64_t valid = 0;  // targets that counted
  std::int64_t samples = 0;
  std::optional<double> accuracy;  // where targets are classes
  bool tokens = false;             // targets are tokens: perplexity means something
  bool bytes = false;              // tokens are bytes: the loss is in nats per byte
  double perplexity() const;       // exp(loss)
};

/// Evaluates the pipe on the data's held-out samples: `windows` evenly spaced windows of tokens, or all rows of a
/// table. Nothing of the pipe changes. The result does not depend on the plan. Error SY_E_CONFIG: nothing is held out.
/// [ctl]
Evaluation evaluate(Pipe& pipe, const DataSet& data, std::int64_t windows);

/// {"loss":1.74,"valid":16384,"samples":64,"accuracy":0.5,"perplexity":5.7,"nats_per_byte":1.74}; keys without meaning
/// for the data are left out.
std::string evaluation_json(const Evaluation& evaluation);

}  // namespace switchyard
