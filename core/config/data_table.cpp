// [data] and [generate].
#include <algorithm>
#include <cctype>

#include "config/reading.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;
using Source = DataConfig::Source;

struct SourceKey {
  const char* key;
  Source source;
};
constexpr SourceKey source_keys[] = {
    {"text", Source::text}, {"table", Source::table}, {"tensors", Source::tensors}, {"synthetic", Source::synthetic}};

void make_paths(const Reading& reading, Value& value, const std::string& what) {
  if (value.is(Kind::string)) return reading.make_path(value, what);
  for (Value& item : value.array()) reading.make_path(item, what);
}

void read_source(Reading& reading, const Options& options, Value& shown) {
  DataConfig& data = *reading.config.data;
  std::string given;
  for (const SourceKey& each : source_keys) {
    if (!options.given(each.key)) continue;
    if (!given.empty())
      reading.errors.add(options.place(each.key), std::string("data.") + each.key + ": data." + given +
                                                      " is given too; wanted one of text, table, tensors, synthetic");
    given = each.key;
    data.source = each.source;
    data.source_place = options.place(each.key);
    Value& value = *shown.find(each.key);
    if (each.source == Source::synthetic) {
      data.synthetic = value.string();
    } else {
      make_paths(reading, value, std::string("data.") + each.key);
      data.files = Reading::texts(value);
    }
    if (value.is(Kind::array) && value.array().empty()) reading.errors.add(value.place, "data.text: the list is empty");
  }
  if (given.empty() && options.sound())
    reading.errors.add(options.place(), "data: wanted one of text, table, tensors, synthetic, found none");
}

void read_target(Reading& reading, const Options& options) {
  DataConfig& data = *reading.config.data;
  data.target = options.str("target");
  data.target_place = options.place("target");
  bool table = options.given("table");
  if (table && !options.given("target"))
    reading.errors.add(options.place("table"),
                       "data.target is missing: the column of data.table that is to be predicted");
  if (!table && options.given("target") && options.sound())
    reading.errors.add(data.target_place, "data.target: names a column of data.table, and there is none");
}

void read_validation(Reading& reading, Value& value) {
  DataConfig& data = *reading.config.data;
  if (value.is(Kind::string)) {
    reading.make_path(value, "data.validation");
    data.validation = 0;
    data.validation_file = Placed{value.string(), value.place};
  } else if (value.is_number() && value.real() >= 0 && value.real() < 1) {
    data.validation = value.real();
  } else {
    std::string found = value.is_number() ? std::to_string(value.real()) : kind_name(value.kind());
    reading.errors.add(value.place, "data.validation: wanted a share from 0 to below 1, or a file; found " + found);
  }
}

/// A bare word is the name of a built-in tokenizer.
void read_tokenizer(Reading& reading, Value& value) {
  const std::string& text = value.string();
  bool name =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
  if (!name || text.empty()) reading.make_path(value, "data.tokenizer");
  reading.config.data->tokenizer = {value.string(), value.place};
}

}  // namespace

Value read_data(Reading& reading, const Value& table) {
  Options options = reading.check("data", table);
  DataConfig& data = reading.config.data.emplace();
  data.place = table.place;
  Value shown = options.table();
  read_source(reading, options, shown);
  read_target(reading, options);
  read_tokenizer(reading, *shown.find("tokenizer"));
  read_validation(reading, *shown.find("validation"));
  data.shuffled = options.str("order") == "shuffled";
  data.drop_last = options.boolean("drop_last");
  data.ignore = options.i64("ignore");
  return shown;
}

Value read_generate(Reading& reading, const Value& table) {
  Options options = reading.check("generate", table);
  GenerateConfig& generate = reading.config.generate;
  generate.place = table.place;
  generate.prompt = options.str("prompt");
  generate.tokens = options.i64("tokens");
  generate.temperature = options.f64("temperature");
  generate.top_k = options.i64("top_k");
  generate.top_p = options.f64("top_p");
  generate.overflow = options.str("overflow");
  return options.table();
}

}  // namespace switchyard
