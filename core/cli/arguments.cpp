#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "commands.hpp"
#include "failure.hpp"

namespace cli {

namespace {

using Run = std::function<int()>;

/// Adds the commands to the program; the one that is given is kept in `run`.
class Grammar {
 public:
  Grammar(CLI::App& program, Run& run) : program_(program), run_(run) {
    add_train();
    add_eval();
    add_generate();
    add_plan();
    add_compare();
    add_bench();
    add_check();
    add_new();
    add_lists();
    program_.require_subcommand(1);
  }

 private:
  /// The arguments live as long as what reads them.
  template <class Arguments>
  std::pair<CLI::App*, std::shared_ptr<Arguments>> command(const std::string& name, const std::string& help,
                                                           int (*function)(const Arguments&)) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* app = program_.add_subcommand(name, help);
    app->callback([&run = run_, arguments, function] { run = [=] { return function(*arguments); }; });
    return {app, arguments};
  }

  static void add_subject(CLI::App& app, Subject& subject, const std::string& help, bool required = true) {
    app.add_option("CONFIG", subject.path, help)->type_name("")->required(required);
    app.add_option("--set", subject.sets, "change one key, such as placement.policy=round_robin; may be repeated")
        ->option_text("KEY=VALUE")
        ->allow_extra_args(false);
  }

  void add_train() {
    auto [app, a] = command<TrainArguments>(
        "train", "train a model; Ctrl-C stops after the current step, with a checkpoint", train);
    a->program = program_.get_name();
    add_subject(*app, a->subject, "a TOML file");
    app->add_option("--out", a->out, "the run's folder; without it runs/NAME-001, counted up")->option_text("DIR");
    app->add_option("--resume", a->resume, "go on from the checkpoint of a run")->option_text("DIR");
    app->add_option("--trace", a->trace,
                    "write what the first steps after a warm-up did as trace events, beside the plan's")
        ->option_text("FILE");
    app->add_flag("--print-config", a->print_config, "print all values in effect and where they come from, and end");
  }

  void add_eval() {
    auto [app, a] = command<CommonArguments>("eval", "the loss on held-out samples", eval);
    add_subject(*app, a->subject, "a TOML file, or the folder of a run");
    app->add_flag("--json", a->json, "as JSON");
  }

  void add_generate() {
    auto [app, a] = command<GenerateArguments>(
        "generate", "text that goes on from a prompt; what is not given comes from [generate]", generate);
    add_subject(*app, a->subject, "a TOML file, or the folder of a run");
    app->add_option("--prompt", a->prompt, "what to go on from")->option_text("TEXT");
    app->add_option("-n,--tokens", a->tokens, "how many tokens to write")->option_text("TOKENS");
    app->add_option("--temperature", a->temperature, "0: always the likeliest token")->option_text("X");
    app->add_option("--top-k", a->top_k, "only the likeliest K; 0: all")->option_text("K");
    app->add_option("--top-p", a->top_p, "only the likeliest that together reach P")->option_text("P");
    app->add_option("--seed", a->seed, "the same seed writes the same text")->option_text("S");
    app->add_option("--stop", a->stop, "end before this text")->option_text("TEXT");
    app->add_flag("--json", a->json, "as JSON, at the end");
  }

  void add_plan() {
    auto [app, a] = command<PlanArguments>("plan", "where everything goes and what it takes; allocates nothing", plan);
    add_subject(*app, a->subject, "a TOML file, or the folder of a run");
    app->add_option("--json", a->json, "also write the plan as JSON; -: to stdout, without the table")
        ->option_text("FILE");
    app->add_option("--schedule", a->schedule, "also write the schedule, one line for each device, for schedule.file")
        ->option_text("FILE");
    app->add_option("--trace", a->trace, "also write the plan's pass as trace events, for ui.perfetto.dev")
        ->option_text("FILE");
    app->add_option("--html", a->html, "also write the plan as a page for a browser; it needs no other file")
        ->option_text("FILE");
    app->add_flag("--sweep", a->sweep, "compare policies, schedules, micro-batch counts and recompute instead");
    app->add_option("--svg", a->svg, "with --sweep: also write time against memory as a picture")->option_text("FILE");
    app->add_flag("--measure", a->measure,
                  "first time the layers on the devices; kept in CONFIG.costs.json, which later plans use");
  }

  void add_compare() {
    auto [app, a] = command<CompareArguments>(
        "compare", "some steps on the plan and on one device; a difference: exit 1, naming the first", compare);
    add_subject(*app, a->subject, "a TOML file");
    app->add_option("--steps", a->steps, "how many; 3")->option_text("N");
    app->add_flag("--json", a->json, "as JSON");
  }

  void add_bench() {
    auto [app, a] = command<BenchArguments>(
        "bench", "steps on random data, without checkpoints: speed, peak bytes and idle share of each device", bench);
    add_subject(*app, a->subject, "a TOML file");
    app->add_option("--steps", a->steps, "how many are timed; 10")->option_text("N");
    app->add_option("--warm-up", a->warm_up, "how many come before; 3")->option_text("N");
    app->add_option("--peak-flops", a->peak_flops, "per second that one device can do, for the MFU")->option_text("X");
    app->add_flag("--json", a->json, "as JSON");
  }

  void add_check() {
    auto [app, a] = command<CheckArguments>(
        "check", "try out a plugin: gradients, costs, types, repeats, options; a check that fails: exit 1", check);
    app->add_option("PLUGIN", a->path, "a plugin's file, such as ./sy-layer-mine.so")->type_name("")->required();
    app->add_option("--input", a->inputs, "shape and type of a layer's next input, such as 4x8 or 4x6:int64")
        ->option_text("SIZES[:TYPE]")
        ->allow_extra_args(false);
    app->add_option("--set", a->sets, "an option of what is checked, such as out=16; may be repeated")
        ->option_text("KEY=VALUE")
        ->allow_extra_args(false);
    app->add_option("--type", a->type, "compute in fp64, fp32, bf16 or fp16 alone")->option_text("TYPE");
    app->add_option("--only", a->only, "one thing of several that the file offers")->option_text("NAME");
    app->add_flag("--json", a->json, "as JSON");
  }

  void add_new() {
    auto [app, a] = command<NewArguments>("new", "write a small project for a plugin of your own", new_plugin);
    app->add_option("KIND", a->kind, "layer, policy, optimizer or schedule")->type_name("")->required();
    app->add_option("NAME", a->name, "what it is called in TOML files")->type_name("")->required();
    app->add_option("--folder", a->folder, "where; without it a new folder NAME")->option_text("DIR");
    app->add_flag("--torch", a->torch, "a layer of LibTorch operators; without it one in plain C");
  }

  void add_lists() {
    auto [inspect_app, i] = command<CommonArguments>(
        "inspect", "every tensor of a configuration, a run or a file: name, shape, type, device, hash", inspect);
    add_subject(*inspect_app, i->subject, "a TOML file, the folder of a run, or a safetensors file");
    inspect_app->add_flag("--json", i->json, "as JSON");

    auto [plugins_app, p] = command<CommonArguments>("plugins", "what was found, loaded or skipped, and why", plugins);
    add_subject(*plugins_app, p->subject, "a TOML file whose [plugins] count too", false);
    plugins_app->add_flag("--json", p->json, "as JSON");

    auto [devices_app, d] = command<CommonArguments>("devices", "the devices of this machine", devices);
    devices_app->add_flag("--json", d->json, "as JSON");

    auto [describe_app, t] = command<CommonArguments>(
        "describe", "a layer type, policy, schedule, optimizer, backend or communicator with its options; none: all names", describe);
    describe_app->add_option("TYPE", t->type, "such as gpt_block")->type_name("");
    describe_app->add_flag("--json", t->json, "as JSON");

    command<CommonArguments>("version", "the versions of program and ABI", version);
  }

  CLI::App& program_;
  Run& run_;
};

/// A first word that is no command is told apart from other mistakes: CLI11 calls both unexpected.
void check_command(const CLI::App& program, int argc, char** argv) {
  std::string known;
  bool found = false;
  for (const CLI::App* command : program.get_subcommands({})) {
    known += (known.empty() ? "" : ", ") + command->get_name();
    found = found || (argc > 1 && command->get_name() == argv[1]);
  }
  if (argc < 2) throw Failure{wrong_input, "a command is missing; known: " + known};
  if (!found && argv[1][0] != '-')
    throw Failure{wrong_input, "'" + std::string(argv[1]) + "' is no command; known: " + known};
}

/// The program and the command that was given.
std::string called(const CLI::App& program) {
  const auto given = program.get_subcommands();
  return program.get_name() + (given.empty() ? "" : " " + given[0]->get_name());
}

}  // namespace

std::function<int()> parse_arguments(int argc, char** argv) {
  CLI::App program("Trains and runs one neural network that is split over several devices.", argv[0]);
  Run run;
  const Grammar grammar(program, run);
  check_command(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help) {
    program.exit(help);
    return {};
  } catch (const CLI::ParseError& e) {
    throw Failure{wrong_input, std::string(e.what()) + "; see " + called(program) + " --help"};
  }
  return run;
}

}  // namespace cli
