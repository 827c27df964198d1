// [placement], [schedule] and [precision].
#include <algorithm>

#include "config/reading.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

/// Members that are tables of options of plugins go to `tables`; the core's own keys and what is no table stay.
Value split_off_tables(const std::string& name, const Value& table, Value& tables) {
  Value rest;
  rest.place = table.place;
  const auto& own = core_table(name).options;
  for (const Value::Member& member : table.table()) {
    bool core = std::any_of(own.begin(), own.end(), [&](const OptionSpec& spec) { return spec.key == member.key; });
    (!core && member.value.is(Kind::table) ? tables : rest).table().push_back(member);
  }
  return rest;
}

Value key_as_text(const std::string& key, const Place& place) {
  Value text(key);
  text.place = place;
  return text;
}

/// Rules of [placement.explicit]. h.0 = "cuda:0" without quotes is a table h with a key 0, and means the name "h.0".
void read_rules(Reading& reading, const Value& table, const std::string& prefix, Value& shown) {
  for (const Value::Member& member : table.table()) {
    std::string name = prefix + member.key;
    std::string what = "placement.explicit: \"" + on_one_line(name) + "\"";
    if (member.value.is(Kind::table)) {
      read_rules(reading, member.value, name + ".", shown);
      continue;
    }
    if (!member.value.is(Kind::string)) {
      reading.errors.add(member.value.place,
                         what + ": wanted a device such as \"cuda:0\", found " + kind_name(member.value.kind()));
      continue;
    }
    check_device_name(member.value.string(), member.value.place, what, reading.errors);
    shown.table().push_back({name, member.place, member.value});
    for (Pattern& pattern : reading.patterns(key_as_text(name, member.place)))
      reading.config.placement.rules.push_back({std::move(pattern), {member.value.string(), member.value.place}});
  }
}

/// Appends the sub-tables to what is shown.
void append(Value& shown, const Value& tables) {
  shown.table().insert(shown.table().end(), tables.table().begin(), tables.table().end());
}

/// Turns schedule.file = "PATH" or [schedule.file] path = "PATH" into the table in effect.
void read_schedule_file(Reading& reading, Value& file) {
  Value table = file;
  if (file.is(Kind::string)) {
    table = Value();
    table.place = file.place;
    table.is_inline = true;
    table.set("path", file);
  } else if (!file.is(Kind::table)) {
    reading.errors.add(file.place, std::string("schedule.file: wanted a path, or a table with the key path, found ") +
                                       kind_name(file.kind()));
    return;
  }
  file = reading.check("schedule.file", table).table();
  file.is_inline = table.is_inline;
  if (Value* path = file.find("path")) {
    reading.make_path(*path, "schedule.file");
    reading.config.schedule.file = Placed{path->string(), path->place};
  }
}

}  // namespace

const Value& PluginChoice::table(const std::string& of) const {
  static const Value empty;
  const Value* found = options.find(of);
  return found ? *found : empty;
}

Value read_placement(Reading& reading, const Value& table) {
  PlacementConfig& placement = reading.config.placement;
  Value tables;
  Options options = reading.check("placement", split_off_tables("placement", table, tables));
  placement.policy.name = options.str("policy");
  placement.policy.place = options.place("policy");
  Value shown = options.table();
  if (Value* rules = shown.find("explicit")) {
    Value flat;
    flat.place = rules->place;
    read_rules(reading, *rules, "", flat);
    *rules = std::move(flat);
  }
  append(shown, tables);
  placement.policy.options = std::move(tables);
  return shown;
}

Value read_schedule(Reading& reading, const Value& table) {
  ScheduleConfig& schedule = reading.config.schedule;
  Value tables;
  Options options = reading.check("schedule", split_off_tables("schedule", table, tables));
  schedule.type.name = options.str("type");
  schedule.type.place = options.place("type");
  schedule.micro_batches = options.i64("micro_batches");
  schedule.micro_batches_given = options.given("micro_batches");
  schedule.micro_batches_place = options.place("micro_batches");
  Value shown = options.table();
  if (Value* file = shown.find("file")) read_schedule_file(reading, *file);
  if (schedule.type.name == "file" && !options.has("file"))
    reading.errors.add(schedule.type.place, "schedule.file is missing; type = \"file\" needs the path of a schedule");
  append(shown, tables);
  schedule.type.options = std::move(tables);
  return shown;
}

Value read_precision(Reading& reading, const Value& table) {
  Options options = reading.check("precision", table);
  PrecisionConfig& precision = reading.config.precision;
  precision.place = table.place;
  precision.type = options.str("type");
  precision.type_place = options.place("type");
  precision.keep_fp32 = reading.patterns(options.value("keep_fp32"));
  if (options.word("loss_scale").empty()) precision.loss_scale = options.f64("loss_scale");
  precision.gradients = options.str("gradients");
  precision.tf32 = options.boolean("tf32");
  return options.table();
}

}  // namespace switchyard
