#include "config/tables.hpp"

#include <limits>

namespace switchyard {
namespace {

constexpr double most_count = 2147483647;  // 2^31 - 1
constexpr double most_integer = 9.3e18;    // above every 64-bit integer
constexpr double above_zero = std::numeric_limits<double>::min();
constexpr double unlimited = std::numeric_limits<double>::max();

OptionSpec boolean(const char* key, const char* fallback, const char* help) {
  return {key, SY_T_BOOL, fallback, 1, 0, {}, "", help, ""};
}
OptionSpec integer(const char* key, const char* fallback, double min, double max, const char* unit, const char* help) {
  return {key, SY_T_I64, fallback, min, max, {}, unit, help, ""};
}
OptionSpec real(const char* key, const char* fallback, double min, double max, const char* unit, const char* help) {
  return {key, SY_T_F64, fallback, min, max, {}, unit, help, ""};
}
OptionSpec text(const char* key, std::optional<std::string> fallback, const char* help) {
  return {key, SY_T_STR, std::move(fallback), 1, 0, {}, "", help, ""};
}
OptionSpec word(const char* key, const char* fallback, std::vector<std::string> choices, const char* help) {
  return {key, SY_T_STR, fallback, 1, 0, std::move(choices), "", help, ""};
}
OptionSpec texts(const char* key, const char* fallback, const char* help) {
  return {key, SY_T_STRS, fallback, 1, 0, {}, "", help, ""};
}
OptionSpec table(const char* key, const char* fallback, const char* help) {
  return {key, T_TABLE, fallback, 1, 0, {}, "", help, ""};
}
OptionSpec any(const char* key, const char* fallback, const char* wanted, const char* help) {
  return {key, T_ANY, fallback, 1, 0, {}, "", help, wanted};
}

std::vector<TableSpec> model_tables() {
  return {
      {"",
       "Keys above the first table",
       {integer("seed", "0", 0, most_integer, "", "seed of initial values, dropout, order of data and made-up data")}},
      {"plugins",
       "Where plugins are found",
       {texts("paths", "[]", "folders that are searched for plugins first"),
        texts("load", "[]", "plugins to load: a path, or a bare file name that is searched for")}},
      {"model",
       "What the layers work on",
       {integer("context", "", 1, most_count, "tokens", "token models: the longest sequence"),
        table("input", "", "other models: one sample; without it, from the data"),
        table("weights", "", "the file that the first weights come from")}},
      {"model.input",
       "One sample, without the batch dimension",
       {{"shape", SY_T_I64S, std::nullopt, 1, most_count, {}, "", "its dimensions; [] is one number", ""},
        word("type", "\"fp32\"", {"fp32", "fp64", "fp16", "bf16", "int64", "int32", "int16", "int8", "uint8", "bool"},
             "its element type")}},
      {"model.weights",
       "First weights out of a file instead of drawn at random",
       {text("file", std::nullopt, "a safetensors file, or the index of several"),
        table("rename", "{}", "patterns of the file's names = ours, the stars filled in order"),
        any("allow_unused", "false", "true, false or a list of patterns",
            "whether tensors of the file may be left over, or which")}},
      {"layer",
       "One [[layer]] entry; further keys belong to its type",
       {text("type", "", "the layer type; an entry without it is a group"),
        text("name", "", "its name; without it TYPE.k, counted"),
        integer("repeat", "", 1, 100000, "", "how many copies, named NAME.0, NAME.1, ..."),
        boolean("trainable", "true", "false: its parameters keep their values"),
        text("init", "\"default\"", "how parameters begin: \"default\", \"normal(0.02)\", \"zeros\", ..."),
        texts("input", "",
              "what it reads: layers, \"split:1\" for the second output, \"batch.NAME\", in groups \"in\""),
        any("layer", "", "[[layer.layer]] entries", "the parts of a group")}},
  };
}

std::vector<TableSpec> plan_tables() {
  return {
      {"devices",
       "What the model is split over",
       {any("use", "\"auto\"", "\"auto\" or a list of devices such as [\"cuda:0\", \"cpu:0\"]",
            "the devices; \"auto\": all GPUs, else cpu:0; all of devices.machine"),
        any("machine", "", "a name such as \"h100-sxm\", the path of a TOML file, or a table",
            "a machine that is not here, to plan for"),
        any("memory", "", "a size such as \"22GiB\", or a list of one for each device",
            "the budget of each device; absent: what is free of a GPU minus 5 %, no limit for a CPU"),
        integer("threads", "0", 0, 4096, "threads", "of each logical CPU device; 0: cores / logical devices"),
        word("p2p", "\"auto\"", {"auto", "off", "force"}, "copies from GPU to GPU without the host"),
        real("stop_within", "10", 0.1, 86400, "s", "from the first failure to the end of the process")}},
      {"devices.machine",
       "A machine that is not here; devices.machine = \"NAME\" or \"FILE.toml\" says the same",
       {text("name", "", "one that comes with the program"), text("file", "", "the path of a description"),
        integer("hosts", "", 1, 100000, "", "how many hosts, in place of the description's number"),
        integer("devices", "", 1, 4096, "", "devices of each host, in place of the description's number")}},
      {"placement",
       "Which layer goes to which device; options of a policy stand in a sub-table of its name",
       {text("policy", "\"memory_balanced\"", "the policy's name"),
        table("explicit", "", "pattern = device, for policy = \"explicit\"")}},
      {"schedule",
       "In which order the devices work; options of a schedule stand in a sub-table of its name",
       {text("type", "\"1f1b\"", "the schedule's name; \"file\" reads one"),
        integer("micro_batches", "1", 1, most_count, "",
                "into how many parts a batch is cut; absent with type = \"auto\": chosen"),
        any("file", "", "a path, or a table with the key path", "the schedule that type = \"file\" reads")}},
      {"schedule.file",
       "For type = \"file\"; schedule.file = \"PATH\" says the same",
       {text("path", std::nullopt, "the schedule as written by plan --schedule")}},
      {"precision",
       "Number types",
       {word("type", "\"fp32\"", {"fp32", "bf16", "fp16"}, "the type that layers compute in"),
        texts("keep_fp32", "[]", "patterns of layers that stay in fp32"),
        {"loss_scale", SY_T_F64, "\"dynamic\"", above_zero, unlimited, {"dynamic"}, "", "fp16: factor on the loss", ""},
        word("gradients", "\"fp32\"", {"fp32", "bf16"}, "the type that gradients are summed in"),
        boolean("tf32", "false", "whether fp32 products on a GPU may use TF32")}},
  };
}

std::vector<TableSpec> train_tables() {
  return {
      {"train",
       "Training; needed by train and plan",
       {integer("batch", "16", 1, most_count, "samples", "of one optimizer step, over all micro-batches and passes"),
        integer("accumulate", "1", 1, most_count, "passes", "passes of the pipeline for one optimizer step"),
        integer("steps", "2000", 0, most_integer, "steps", "optimizer steps; 0 writes the first weights"),
        table("optimizer", "{}", "the optimizer and its options"),
        table("lr_schedule", "{}", "how the learning rate changes"),
        real("clip_norm", "1.0", 0, unlimited, "", "largest norm of all gradients; 0: off"),
        any("recompute", "false", "true, false, a list of patterns or \"auto\"",
            "layers that compute their forward pass again instead of keeping its results; absent where policy or "
            "schedule is \"auto\": \"auto\""),
        integer("report_every", "10", 1, most_count, "steps", "how often losses are reported"),
        integer("eval_every", "0", 0, most_count, "steps",
                "how often validation data are measured; 0: at the end only"),
        integer("eval_windows", "64", 1, most_count, "samples", "how many of them are taken each time"),
        boolean("deterministic", "true", "the same bits in every run; always so on the CPU")}},
      {"train.optimizer",
       "Further keys are the optimizer's options; train.optimizer.NAME holds those of one that is not chosen",
       {text("type", "\"adamw\"", "the optimizer's name")}},
      {"train.lr_schedule",
       "The learning rate is the optimizer's lr times a factor",
       {word("type", "\"constant\"", {"constant", "linear", "cosine"}, "its course after the warm-up"),
        integer("warmup", "0", 0, most_integer, "steps", "steps of linear growth from zero at the beginning"),
        real("final", "0.1", 0, 1, "", "the factor at the last step, for linear and cosine")}},
      {"data",
       "What is learnt; needed by train and eval. One of text, table, tensors, synthetic",
       {texts("text", "", "text files, read one after the other"), text("table", "", "a CSV file with a header"),
        text("tensors", "", "a safetensors file with inputs and targets"),
        text("synthetic", "", "made-up data of this kind: \"tokens\""),
        text("target", "", "the column of the table that is to be predicted: numbers or class names"),
        text("tokenizer", "\"bytes\"", "a name, or a path of a tokenizer's files"),
        any("validation", "0.1", "a share from 0 to below 1, or a file",
            "the tail that is held out (0: none), or a file"),
        word("order", "\"shuffled\"", {"shuffled", "given"}, "in which order samples come"),
        boolean("drop_last", "true", "whether a last, smaller batch is left out"),
        integer("ignore", "-100", -2147483648.0, most_count, "", "the target that does not count")}},
  };
}

std::vector<TableSpec> result_tables() {
  return {
      {"checkpoint",
       "When the state is saved",
       {integer("every", "0", 0, most_integer, "steps", "how often; 0: at the end only"),
        integer("keep", "2", 1, most_count, "", "how many of the newest are kept")}},
      {"generate",
       "Writing text",
       {text("prompt", "\"The \"", "what the text begins with"),
        integer("tokens", "200", 1, most_count, "tokens", "how many are written"),
        real("temperature", "1.0", 0, unlimited, "", "0 takes the likeliest token each time"),
        integer("top_k", "0", 0, most_count, "", "only the likeliest so many tokens are drawn from; 0: all"),
        real("top_p", "1.0", 0, 1, "", "only the likeliest tokens of this total share are drawn from"),
        word("overflow", "\"slide\"", {"slide", "stop", "error"},
             "past the context: keep its last tokens, stop, or refuse before the start")}},
  };
}

std::vector<TableSpec> all_tables() {
  std::vector<TableSpec> all;
  for (auto part : {model_tables, plan_tables, train_tables, result_tables})
    for (TableSpec& table : part()) all.push_back(std::move(table));
  return all;
}

}  // namespace

const std::vector<TableSpec>& core_tables() {
  static const std::vector<TableSpec> tables = all_tables();
  return tables;
}

const TableSpec& core_table(const std::string& name) {
  for (const TableSpec& table : core_tables())
    if (table.name == name) return table;
  throw Error(SY_E_INTERNAL, "the core has no table [" + name + "]");
}

}  // namespace switchyard
