// switchyard plan: what would run where, without allocating anything.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "commands.hpp"
#include "handle.hpp"

namespace cli {

namespace {

void write_file(const std::string& option, const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Failure{wrong_input, option + ": '" + path + "' cannot be written; name a file in a folder that exists"};
}

/// Text that the API gave, freed by itself.
struct Given {
  char* text = nullptr;
  ~Given() { sy_free(text); }
};

int sweep(const PlanArguments& arguments, sy_runtime* runtime) {
  Given table, json, svg;
  call([&](sy_error** err) { return sy_plan_sweep(runtime, arguments.measure, &table.text, &json.text, &svg.text, err); });
  if (!arguments.svg.empty()) write_file("--svg", arguments.svg, svg.text);
  if (arguments.json == "-") return std::cout << json.text << "\n", done;
  if (!arguments.json.empty()) write_file("--json", arguments.json, json.text);
  std::cout << table.text;
  return done;
}

/// One of the plan's texts.
std::string read(const Plan& plan, sy_rc (*get)(sy_plan*, char**, sy_error**)) {
  return text_of([&](char** give, sy_error** err) { return get(plan.get(), give, err); });
}

}  // namespace

int plan(const PlanArguments& arguments) {
  if (!arguments.svg.empty() && !arguments.sweep)
    throw Failure{wrong_input, "--svg draws what --sweep compares; give both"};
  if (!arguments.schedule.empty() && arguments.sweep)
    throw Failure{wrong_input, "--schedule writes the schedule of one plan, --sweep makes many; give one of them"};
  if (arguments.sweep && !(arguments.html.empty() && arguments.trace.empty()))
    throw Failure{wrong_input, "--html and --trace show one plan, --sweep compares many; leave one out"};
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  if (arguments.sweep) return sweep(arguments, runtime.get());
  sy_plan* raw = nullptr;
  call([&](sy_error** err) { return sy_plan_make(runtime.get(), &raw, err); });
  const Plan plan(raw);
  if (arguments.measure) call([&](sy_error** err) { return sy_plan_measure(plan.get(), err); });
  if (!arguments.schedule.empty()) write_file("--schedule", arguments.schedule, read(plan, sy_plan_schedule));
  if (!arguments.html.empty()) write_file("--html", arguments.html, read(plan, sy_plan_html));
  if (!arguments.trace.empty()) write_file("--trace", arguments.trace, read(plan, sy_plan_trace));
  if (arguments.json == "-") return std::cout << read(plan, sy_plan_json), done;
  if (!arguments.json.empty()) write_file("--json", arguments.json, read(plan, sy_plan_json));
  std::cout << read(plan, sy_plan_text);
  return done;
}

}  // namespace cli
