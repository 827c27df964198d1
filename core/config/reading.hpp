// What the readers of the single tables share. Internal to config/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace switchyard {

/// One pass over a document. Readers fill their part of `config`, add mistakes to `errors`, and give back the table as
/// it is in effect: with defaults, and with absolute paths.
class Reading {
 public:
  Reading(Config& config, ErrorList& errors) : config(config), errors(errors) {}

  /// Checks a table against the core's keys of that name ("train.lr_schedule").
  Options check(const std::string& name, const Value& table) const;
  /// An absolute path of one that is relative to the file, or in a --set to the current folder.
  std::string path(const std::string& text, const Place& place) const;
  /// Replaces the text by its path; an empty one is a mistake.
  void make_path(Value& value, const std::string& what) const;
  /// One string or a list of strings.
  static std::vector<Placed> texts(const Value& value);
  /// Adds a mistake for each text that is no pattern.
  std::vector<Pattern> patterns(const Value& value) const;
  /// Whether the value is a string or a list of strings.
  static bool is_texts(const Value& value);

  Config& config;
  ErrorList& errors;
};

/// Is it TYPE:NUMBER, such as "cuda:0"? If not, adds a mistake.
bool check_device_name(const std::string& name, const Place& place, const std::string& what, ErrorList& errors);

Value read_plugins(Reading& reading, const Value& table);
Value read_model(Reading& reading, const Value& table);
Value read_devices(Reading& reading, const Value& table);
Value read_placement(Reading& reading, const Value& table);
Value read_schedule(Reading& reading, const Value& table);
Value read_precision(Reading& reading, const Value& table);
Value read_train(Reading& reading, const Value& table);
Value read_data(Reading& reading, const Value& table);
Value read_checkpoint(Reading& reading, const Value& table);
Value read_generate(Reading& reading, const Value& table);

/// What no table can check alone: patterns against layers, the batch against micro-batches, budgets against devices.
void check_across_tables(const Config& config, ErrorList& errors);

/// A checksum over the text of a printed configuration, and its first line.
std::string printed_header(const std::string& body);
/// The origins that an unchanged printed configuration carries, by line; empty for every other text.
std::vector<std::string> read_origins(const std::string& text);

}  // namespace switchyard
