// switchyard compare: does the plan give the numbers of one device, bit for bit?
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "handle.hpp"

namespace cli {

int compare(const CompareArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  std::string text;
  const std::string json = text_of([&](char** give, sy_error** err) {
    char* raw = nullptr;
    const sy_rc rc = sy_compare(runtime.get(), arguments.steps, &raw, give, err);
    if (raw) text = raw;
    sy_free(raw);
    return rc;
  });
  const bool equal = nlohmann::json::parse(json)["equal"];
  if (arguments.json)
    std::cout << json << "\n";
  else if (equal)
    std::cout << text << "\n";
  if (!equal) throw Failure{failed_running, text};
  return done;
}

}  // namespace cli
