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
    std::string what = "placement.explicit: \"" + name + "\"";
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

/// schedule.file = "PATH" or [schedule.file] path = "PATH".
void read_schedule_file(Reading& reading, Value& rest, Value& tables, Value& shown) {
  Value table;
  if (const Value* written = tables.find("file")) {
    table = *written;
    tables.erase("file");
  } else if (const Value* text = rest.find("file")) {
    table.place = text->place;
    table.is_inline = true;
    table.set("path", *text);
    rest.erase("file");
  } else {
    return;
  }
  Options options = reading.check("schedule.file", table);
  Value in_effect = options.table();
  in_effect.is_inline = table.is_inline;
  if (Value* path = in_effect.find("path")) {
    reading.make_path(*path, "schedule.file");
    reading.config.schedule.file = Placed{path->string(), path->place};
  }
  shown.set("file", std::move(in_effect));
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
  if (const Value* rules = tables.find("explicit")) {
    Value shown_rules;
    shown_rules.place = rules->place;
    read_rules(reading, *rules, "", shown_rules);
    shown.set("explicit", std::move(shown_rules));
    tables.erase("explicit");
  }
  append(shown, tables);
  placement.policy.options = std::move(tables);
  return shown;
}

Value read_schedule(Reading& reading, const Value& table) {
  ScheduleConfig& schedule = reading.config.schedule;
  Value tables, file;
  Value rest = split_off_tables("schedule", table, tables);
  read_schedule_file(reading, rest, tables, file);
  Options options = reading.check("schedule", rest);
  schedule.type.name = options.str("type");
  schedule.type.place = options.place("type");
  schedule.micro_batches = options.i64("micro_batches");
  schedule.micro_batches_place = options.place("micro_batches");
  if (schedule.type.name == "file" && !schedule.file)
    reading.errors.add(schedule.type.place, "schedule.file is missing; type = \"file\" needs the path of a schedule");
  Value shown = options.table();
  append(shown, file);
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
