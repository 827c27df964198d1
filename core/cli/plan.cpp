// switchyard plan: what would run where, without allocating anything.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "commands.hpp"
#include "handle.hpp"

namespace cli {

namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Failure{wrong_input, "--json: '" + path + "' cannot be written; name a file in a folder that exists"};
}

}  // namespace

int plan(const PlanArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  sy_plan* raw = nullptr;
  call([&](sy_error** err) { return sy_plan_make(runtime.get(), &raw, err); });
  const Plan plan(raw);
  if (!arguments.json.empty()) {
    const std::string json = text_of([&](char** give, sy_error** err) { return sy_plan_json(plan.get(), give, err); });
    if (arguments.json == "-") return std::cout << json, done;
    write_file(arguments.json, json);
  }
  std::cout << text_of([&](char** give, sy_error** err) { return sy_plan_text(plan.get(), give, err); });
  return done;
}

}  // namespace cli
