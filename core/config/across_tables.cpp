#include "config/reading.hpp"

namespace switchyard {
namespace {

std::vector<int> place_explicitly(const Config& config, ErrorList& errors) {
  const std::vector<ExplicitRule>& rules = config.placement.rules;
  std::vector<Pattern> patterns;
  for (const ExplicitRule& rule : rules) patterns.push_back(rule.pattern);
  auto same = [&](int a, int b) { return rules[a].device.text == rules[b].device.text; };
  std::vector<int> chosen = choose_rules(config.layers, patterns, same, "placement.explicit", errors);
  std::string unplaced;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i] < 0) unplaced += (unplaced.empty() ? "" : ", ") + describe_layer(config.layers[i]);
  if (!unplaced.empty() && config.placement.policy.name == "explicit")
    errors.add(config.placement.policy.place,
               "placement.explicit: no rule places " + unplaced + "; add a rule for each, or \"*\" = \"DEVICE\"");
  return chosen;
}

void check_rule_devices(const Config& config, ErrorList& errors) {
  if (config.devices.automatic) return;
  for (const ExplicitRule& rule : config.placement.rules) {
    bool used = false;
    for (const Placed& device : config.devices.use) used = used || device.text == rule.device.text;
    if (!used)
      errors.add(rule.device.place, "placement.explicit: \"" + rule.pattern.text() + "\": \"" + rule.device.text +
                                        "\" is not in devices.use; add it there");
  }
}

void check_batch(const Config& config, ErrorList& errors) {
  const TrainConfig& train = *config.train;
  std::int64_t parts = config.schedule.micro_batches * train.accumulate;
  if (parts <= train.batch) return;
  errors.add(train.batch_place, "train.batch: " + std::to_string(train.batch) + " samples cannot be cut into " +
                                    std::to_string(config.schedule.micro_batches) + " micro-batches x " +
                                    std::to_string(train.accumulate) + " passes = " + std::to_string(parts) +
                                    " parts; make train.batch larger or schedule.micro_batches smaller");
}

}  // namespace

void check_across_tables(const Config& config, ErrorList& errors) {
  if (config.train) check_batch(config, errors);
  check_rule_devices(config, errors);
  if (config.layers.empty()) return;  // there was a mistake in them: patterns would only add noise
  match_any(config.layers, config.precision.keep_fp32, "precision.keep_fp32", errors);
  if (config.train) match_any(config.layers, config.train->recompute.patterns, "train.recompute", errors);
  place_explicitly(config, errors);
}

std::vector<std::string> explicit_devices(const Config& config) {
  ErrorList errors;
  std::vector<int> chosen = place_explicitly(config, errors);
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0 && config.placement.policy.name != "explicit")
      errors.add(config.placement.policy.place,
                 "placement.explicit: no rule places " + describe_layer(config.layers[i]));
    devices.push_back(chosen[i] < 0 ? "" : config.placement.rules[chosen[i]].device.text);
  }
  errors.raise();
  return devices;
}

}  // namespace switchyard
