// The commands, each with the arguments it takes. A command gives the exit code; what goes wrong is thrown
// (failure.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// CONFIG, CONFIG|RUN or CONFIG|RUN|FILE, and --set.
struct Subject {
  std::string path;
  std::vector<std::string> sets;
};

struct TrainArguments {
  Subject subject;
  std::string out, resume, trace;
  bool print_config = false;
  std::string program;  // how it was called
};
int train(const TrainArguments& arguments);

struct GenerateArguments {
  Subject subject;
  std::optional<std::string> prompt, stop;
  std::optional<std::int64_t> tokens, top_k;
  std::optional<double> temperature, top_p;
  std::optional<std::uint64_t> seed;
  bool json = false;
};
int generate(const GenerateArguments& arguments);

struct PlanArguments {
  Subject subject;
  std::string json;                        // file; "-": stdout; "": none
  std::string schedule, html, trace, svg;  // files; "": none; svg: of a sweep
  bool sweep = false;
  bool measure = false;
};
int plan(const PlanArguments& arguments);

struct CompareArguments {
  Subject subject;
  std::int64_t steps = 3;
  bool json = false;
};
int compare(const CompareArguments& arguments);

struct BenchArguments {
  Subject subject;
  std::int64_t steps = 10, warm_up = 3;
  double peak_flops = 0;
  bool json = false;
};
int bench(const BenchArguments& arguments);

struct CheckArguments {
  std::string path;
  std::vector<std::string> sets, inputs;
  std::string type, only;
  bool json = false;
};
int check(const CheckArguments& arguments);

struct NewArguments {
  std::string kind, name;
  std::string folder;  // "": one of the name
  bool torch = false;
};
int new_plugin(const NewArguments& arguments);

/// Of the commands that take nothing else.
struct CommonArguments {
  Subject subject;
  std::string type;  // describe
  bool json = false;
};
int eval(const CommonArguments& arguments);
int inspect(const CommonArguments& arguments);
int plugins(const CommonArguments& arguments);
int devices(const CommonArguments& arguments);
int describe(const CommonArguments& arguments);
int version(const CommonArguments& arguments);

}  // namespace cli
