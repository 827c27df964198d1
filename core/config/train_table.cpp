// [train] and [checkpoint].
#include "config/reading.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

/// Sub-tables named after an optimizer hold its options; those of the chosen one join the options beside `type`.
void read_optimizer(Reading& reading, Value& shown) {
  OptimizerConfig& optimizer = reading.config.train->optimizer;
  Value own;
  own.place = shown.place;
  optimizer.place = shown.place;
  for (const Value::Member& member : shown.table()) {
    if (member.key == "type")
      own.table().push_back(member);
    else
      (member.value.is(Kind::table) ? optimizer.others : optimizer.options).table().push_back(member);
  }
  Options options = reading.check("train.optimizer", own);
  optimizer.type = options.str("type");
  optimizer.type_place = options.place("type");
  optimizer.options.place = shown.place;
  if (const Value* chosen = optimizer.others.find(optimizer.type)) {
    for (const Value::Member& member : chosen->table()) {
      if (optimizer.options.find(member.key))
        reading.errors.add(member.place, "train.optimizer." + optimizer.type + "." + member.key +
                                             " is also given as train.optimizer." + member.key + "; keep one");
      else
        optimizer.options.table().push_back(member);
    }
    optimizer.others.erase(optimizer.type);
  }
  if (!shown.find("type")) {
    Value type(optimizer.type);
    shown.table().insert(shown.table().begin(), Value::Member{"type", {}, std::move(type)});
  }
}

void read_lr_schedule(Reading& reading, Value& shown) {
  LrScheduleConfig& schedule = reading.config.train->lr_schedule;
  Options options = reading.check("train.lr_schedule", shown);
  schedule.type = options.str("type");
  schedule.warmup = options.i64("warmup");
  schedule.final = options.f64("final");
  schedule.place = shown.place;
  bool is_inline = shown.is_inline;
  shown = options.table();
  shown.is_inline = is_inline;
}

void read_recompute(Reading& reading, const Value& value) {
  RecomputeConfig& recompute = reading.config.train->recompute;
  recompute.place = value.place;
  using Mode = RecomputeConfig::Mode;
  if (value.is(Kind::boolean)) {
    recompute.mode = value.boolean() ? Mode::all : Mode::none;
  } else if (value.is(Kind::string) && value.string() == "auto") {
    recompute.mode = Mode::automatic;
  } else if (Reading::is_texts(value)) {
    recompute.mode = Mode::patterns;
    recompute.patterns = reading.patterns(value);
  } else {
    reading.errors.add(value.place, "train.recompute: wanted true, false, a list of patterns or \"auto\", found " +
                                        std::string(kind_name(value.kind())));
  }
}

}  // namespace

Value read_train(Reading& reading, const Value& table) {
  Options options = reading.check("train", table);
  TrainConfig& train = reading.config.train.emplace();
  train.place = table.place;
  train.batch = options.i64("batch");
  train.batch_place = options.place("batch");
  train.accumulate = options.i64("accumulate");
  train.steps = options.i64("steps");
  train.steps_place = options.place("steps");
  train.clip_norm = options.f64("clip_norm");
  train.report_every = options.i64("report_every");
  train.eval_every = options.i64("eval_every");
  train.eval_windows = options.i64("eval_windows");
  train.deterministic = options.boolean("deterministic");
  read_recompute(reading, options.value("recompute"));
  train.recompute.given = options.given("recompute");
  Value shown = options.table();
  read_optimizer(reading, *shown.find("optimizer"));
  read_lr_schedule(reading, *shown.find("lr_schedule"));
  return shown;
}

Value read_checkpoint(Reading& reading, const Value& table) {
  Options options = reading.check("checkpoint", table);
  reading.config.checkpoint.every = options.i64("every");
  reading.config.checkpoint.keep = options.i64("keep");
  return options.table();
}

}  // namespace switchyard
