#include "config/config.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "refusal.hpp"

using namespace switchyard;
namespace fs = std::filesystem;

namespace {

const std::string layer = "\n[[layer]]\ntype = 'linear'\nname = 'a'\n";

Config parse(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parse_config(text + layer, "/conf/t.toml", sets);
}

std::string wrong(const std::string& text) {
  return refusal([&] { parse(text); });
}

/// A folder that goes away with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("config_test." + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const char* name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

}  // namespace

TEST_CASE("everything has a default but the layers") {
  Config c = parse("");
  CHECK(c.seed == 0);
  CHECK(c.plugins.paths.empty());
  CHECK(c.plugins.load.empty());
  CHECK(!c.model.context);
  CHECK(!c.model.input);
  CHECK(!c.model.weights);
  CHECK(c.devices.automatic);
  CHECK(c.devices.memory.empty());
  CHECK(!c.devices.memory_of(0));
  CHECK(c.devices.threads == 0);
  CHECK(c.devices.p2p == "auto");
  CHECK(c.devices.stop_within == 10.0);
  CHECK(c.placement.policy.name == "memory_balanced");
  CHECK(c.schedule.type.name == "1f1b");
  CHECK(c.schedule.micro_batches == 1);
  CHECK(c.precision.type == "fp32");
  CHECK(!c.precision.loss_scale);
  CHECK(c.precision.gradients == "fp32");
  CHECK(!c.precision.tf32);
  CHECK(!c.train);
  CHECK(!c.data);
  CHECK(c.checkpoint.every == 0);
  CHECK(c.checkpoint.keep == 2);
  CHECK(c.generate.prompt == "The ");
  CHECK(c.generate.tokens == 200);
  CHECK(c.generate.temperature == 1.0);
  CHECK(c.generate.top_k == 0);
  CHECK(c.generate.top_p == 1.0);
  CHECK(c.generate.overflow == "slide");
  CHECK(c.folder == "/conf");
}

TEST_CASE("defaults of train and data, where the tables are there") {
  Config c = parse("[train]\n[data]\ntext = 'b'\n");
  CHECK(c.train->batch == 16);
  CHECK(c.train->accumulate == 1);
  CHECK(c.train->steps == 2000);
  CHECK(c.train->optimizer.type == "adamw");
  CHECK(c.train->optimizer.options.table().empty());
  CHECK(c.train->lr_schedule.type == "constant");
  CHECK(c.train->lr_schedule.warmup == 0);
  CHECK(c.train->lr_schedule.final == 0.1);
  CHECK(c.train->clip_norm == 1.0);
  CHECK(c.train->recompute.mode == RecomputeConfig::Mode::none);
  CHECK(c.train->report_every == 10);
  CHECK(c.train->eval_every == 0);
  CHECK(c.train->eval_windows == 64);
  CHECK(c.train->deterministic);
  CHECK(c.data->tokenizer.text == "bytes");
  CHECK(c.data->validation == 0.1);
  CHECK(c.data->shuffled);
  CHECK(c.data->drop_last);
  CHECK(c.data->ignore == -100);
}

TEST_CASE("a --set makes a table that the file lacks") {
  CHECK(parse("", {"train.steps=3"}).train->steps == 3);
  CHECK(parse("", {"data.synthetic=tokens"}).data->source == DataConfig::Source::synthetic);
}

TEST_CASE("paths are relative to the file, in --set to the current folder, and stay when absolute") {
  Config c = parse(
      "[plugins]\npaths = ['p', '/q']\nload = ['./l.so', 'bare.so']\n[model.weights]\nfile = '../w'\n[data]\ntext = "
      "['a', 'b/c']\n"
      "validation = 'v'\ntokenizer = './tok'\n");
  CHECK(c.plugins.paths[0].text == "/conf/p");
  CHECK(c.plugins.paths[1].text == "/q");
  CHECK(c.plugins.load[0].text == "/conf/l.so");
  CHECK(c.plugins.load[1].text == "bare.so");
  CHECK(c.model.weights->file.text == "/w");
  CHECK(c.data->files[0].text == "/conf/a");
  CHECK(c.data->files[1].text == "/conf/b/c");
  CHECK(c.data->files[1].place.prefix() == "/conf/t.toml:7:14: ");
  CHECK(c.data->validation_file->text == "/conf/v");
  CHECK(c.data->validation == 0);
  CHECK(c.data->tokenizer.text == "/conf/tok");
  CHECK(parse("", {"data.text=x"}).data->files[0].text == (fs::current_path() / "x").string());
  CHECK_HOLDS(wrong("[data]\ntext = ''\n"), "data.text: the path is empty");
  CHECK_HOLDS(wrong("[model.weights]\nfile = ''\n"), "model.weights.file: the path is empty");
}

TEST_CASE("files that cannot be read are refused with their name") {
  Folder folder;
  CHECK_HOLDS(refusal([&] { load_config((folder.path / "none.toml").string()); }),
              "none.toml: cannot be read: No such file");
  CHECK_HOLDS(refusal([&] { load_config(folder.path.string()); }), "this is a folder");
  std::string bare = folder.write("bare.so", "");
  std::string path = folder.write("c.toml", "[plugins]\nload = ['bare.so']" + layer);
  CHECK(load_config(path).plugins.load[0].text == bare);
  CHECK_HOLDS(refusal([&] { load_config(folder.write("bad.toml", "a = \n")); }), "bad.toml:1:");
}

TEST_CASE("no layer is a mistake") {
  CHECK_HOLDS(refusal([] { parse_config("seed = 1\n", "t.toml"); }), "t.toml: the file has no [[layer]]");
  CHECK_HOLDS(refusal([] { parse_config("", "t.toml"); }), "t.toml: the file has no [[layer]]");
}

TEST_CASE("misspelt keys and tables are all named at once, with hints") {
  std::string text = wrong("[pipelin]\nstages = 2\n[train]\nlerning_rate = 1e-3\n[schedule]\nmicro-batches = 4\n");
  CHECK(lines(text) == 3);
  CHECK_HOLDS(text, "/conf/t.toml:1:2: [pipelin]: unknown table; write [schedule] and [placement]");
  CHECK_HOLDS(text, "/conf/t.toml:4:1: train.lerning_rate: unknown key; write train.optimizer.lr");
  CHECK_HOLDS(text, "/conf/t.toml:6:1: schedule.micro-batches: unknown key; did you mean 'micro_batches'?");
  CHECK_HOLDS(wrong("sed = 1\n"), "sed: unknown key; did you mean 'seed'?");
  CHECK_HOLDS(wrong("[trian]\n"), "[trian]: unknown table; did you mean 'train'?");
  CHECK_HOLDS(wrong("[[layers]]\n"), "[layers]: unknown table; write one [[layer]] for each");
}

TEST_CASE("replication is refused by name") {
  CHECK_HOLDS(wrong("[parallel]\nreplicas = 2\n"), "never copied");
  CHECK_HOLDS(wrong("replicas = 2\n"), "never copied");
  CHECK_HOLDS(wrong("[devices]\nreplicas = 2\n"), "never copied");
}

TEST_CASE("seed") {
  CHECK(parse("seed = 9223372036854775807\n").seed == 9223372036854775807);
  CHECK_HOLDS(wrong("seed = -1\n"), "/conf/t.toml:1:8: seed: wanted an integer of 0 or more, found an integer (-1)");
}

TEST_CASE("model") {
  Config c = parse(
      "[model]\ncontext = 256\ninput = { shape = [3, 32, 32] }\nweights = { file = 'w', rename = { 'a.*' = 'b.*', 'c' "
      "= 'd' }, "
      "allow_unused = ['x.*'] }\n");
  CHECK(c.model.context == 256);
  CHECK(c.model.context_place.line == 2);
  CHECK(c.model.input->shape == std::vector<std::int64_t>{3, 32, 32});
  CHECK(c.model.input->type == "fp32");
  CHECK(c.model.weights->rename.size() == 2);
  CHECK(c.model.weights->rename[0].from == "a.*");
  CHECK(c.model.weights->rename[0].to == "b.*");
  CHECK(c.model.weights->rename[1].place.line == 4);
  CHECK(!c.model.weights->allow_unused);
  CHECK(c.model.weights->allow_unused_patterns[0].text() == "x.*");
  CHECK(parse("[model.weights]\nfile = 'w'\nallow_unused = true\n").model.weights->allow_unused);
  CHECK(parse("[model.input]\nshape = []\ntype = 'int64'\n").model.input->shape.empty());
  CHECK_HOLDS(wrong("[model]\ninput = { type = 'fp32' }\n"), "model.input.shape is missing");
  CHECK_HOLDS(wrong("[model]\ninput = { shape = [0] }\n"), "model.input.shape: wanted a list of integers");
  CHECK_HOLDS(wrong("[model]\nweights = { }\n"), "model.weights.file is missing");
  CHECK_HOLDS(wrong("[model]\nweights = { file = 'w', rename = { 'a.*' = 'b' } }\n"), "same number of '*'");
  CHECK_HOLDS(wrong("[model]\nweights = { file = 'w', rename = { a.b = 'b' } }\n"), "write names with dots in quotes");
  CHECK_HOLDS(wrong("[model]\nweights = { file = 'w', allow_unused = 'x.{' }\n"), "'{' without a '}'");
}

TEST_CASE("devices") {
  Config c = parse(
      "[devices]\nuse = ['cuda:0', 'cpu:{0..1}']\nmemory = ['22GiB', 1000, 'auto']\nthreads = 2\np2p = "
      "'off'\nstop_within = 3\n");
  CHECK(!c.devices.automatic);
  REQUIRE(c.devices.use.size() == 3);
  CHECK(c.devices.use[2].text == "cpu:1");
  CHECK(c.devices.use[2].place.column == 18);
  CHECK(c.devices.memory_of(0) == std::int64_t{22} << 30);
  CHECK(c.devices.memory_of(1) == 1000);
  CHECK(!c.devices.memory_of(2));
  CHECK(c.devices.memory_places[1].prefix() == "/conf/t.toml:3:20: ");
  CHECK(c.devices.threads == 2);
  CHECK(c.devices.p2p == "off");
  CHECK(c.devices.stop_within == 3.0);
  CHECK(parse("[devices]\nmemory = '10GB'\n").devices.memory_of(7) == 10000000000);
  CHECK(parse("[devices]\nuse = 'cuda:0'\n").devices.use.size() == 1);
  CHECK(parse("[devices]\nuse = ['cpu:{0..4095}']\n").devices.use.size() == 4096);
  CHECK_HOLDS(wrong("[devices]\nuse = ['cuda:0', 'cuda:0']\n"), "\"cuda:0\" is listed twice");
  CHECK_HOLDS(wrong("[devices]\nuse = ['gpu:1']\n"), "write \"cuda:1\"");
  CHECK_HOLDS(wrong("[devices]\nuse = ['cuda']\n"), "write \"cuda:0\"");
  CHECK_HOLDS(wrong("[devices]\nuse = ['cpu:{0..}']\n"), "of the form {0..16}");
  CHECK_HOLDS(wrong("[devices]\nuse = ['cpu:0']\nmemory = ['1GiB', '2GiB']\n"), "2 sizes for 1 devices");
  CHECK_HOLDS(wrong("[devices]\nmemory = ['1GiB', '2G']\n"), "/conf/t.toml:2:19: devices.memory: \"2G\"");
}

TEST_CASE("devices.machine: a name, a path, or a table with other counts") {
  const auto machine = [](const std::string& value) {
    return *parse("[devices]\nmachine = " + value + "\n").devices.machine;
  };
  CHECK_FALSE(parse("").devices.machine);
  CHECK(machine("'h200'").name.text == "h200");
  CHECK(machine("'h200'").file.text == "");
  CHECK(machine("'h200'").place.prefix() == "/conf/t.toml:2:11: ");
  CHECK(machine("'m.toml'").file.text == "/conf/m.toml");
  CHECK(machine("'/x/m'").file.text == "/x/m");
  CHECK(machine("{ file = 'm', hosts = 3 }").file.text == "/conf/m");
  CHECK(machine("{ file = 'm', hosts = 3 }").hosts == 3);
  CHECK(machine("{ name = 'h200', devices = 4 }").devices == 4);
  CHECK_FALSE(machine("{ name = 'h200', devices = 4 }").hosts);
  CHECK_HOLDS(wrong("[devices]\nmachine = 3\n"),
              "/conf/t.toml:2:11: devices.machine: wanted a name such as \"h100-sxm\"");
  CHECK_HOLDS(wrong("[devices.machine]\nhosts = 3\n"), "devices.machine: wanted a name or a file");
  CHECK_HOLDS(wrong("[devices]\nmachine = { name = 'x', file = 'y' }\n"), "both a name and a file");
  CHECK_HOLDS(wrong("[devices]\nmachine = { name = 'x', host = 2 }\n"),
              "devices.machine.host: unknown key; did you mean 'hosts'?");
  const Config c = parse("[devices]\nmachine = 'm.toml'\n");
  CHECK(parse_config(print_config(c), "/elsewhere/t.toml").devices.machine->file.text == "/conf/m.toml");
}

TEST_CASE("placement: options of policies stand in sub-tables, explicit ones are rules") {
  Config c = parse(
      "[placement]\npolicy = 'contiguous'\n[placement.contiguous]\ncuts = ['h.1']\n[placement.round_robin]\ndeal = "
      "'h.*'\n"
      "[placement.explicit]\n'a' = 'cuda:0'\nb.0.c = 'cuda:1'\n'*' = 'cuda:1'\n",
      {"layer=[{ type = 'x', name = 'a' }, { type = 'x', name = 'b.0.c' }]"});
  CHECK(c.placement.policy.name == "contiguous");
  CHECK(c.placement.policy.place.line == 2);
  CHECK(c.placement.policy.table("contiguous").find("cuts")->array().size() == 1);
  CHECK(c.placement.policy.table("round_robin").find("deal")->string() == "h.*");
  CHECK(c.placement.policy.table("none").table().empty());
  CHECK(c.placement.policy.options.find("explicit") == nullptr);
  REQUIRE(c.placement.rules.size() == 3);
  CHECK(c.placement.rules[1].pattern.text() == "b.0.c");
  CHECK(c.placement.rules[1].device.text == "cuda:1");
  CHECK(c.placement.rules[2].pattern.place().line == 10);
  CHECK_HOLDS(wrong("[placement]\npolcy = 'x'\n"), "placement.polcy: unknown key; did you mean 'policy'?");
  CHECK_HOLDS(wrong("[placement]\npolicy = { a = 1 }\n"), "placement.policy: wanted a string, found a table");
  CHECK_HOLDS(wrong("[placement.explicit]\na = 0\n"),
              "placement.explicit: \"a\": wanted a device such as \"cuda:0\", found an integer");
  CHECK_HOLDS(wrong("[placement.explicit]\na = 'first'\n"), "\"first\" is no device");
  CHECK_HOLDS(wrong("[placement.explicit]\n'a{' = 'cpu:0'\n"), "'{' without a '}'");
  CHECK_HOLDS(wrong("[placement]\nexplicit = 3\n"), "placement.explicit: wanted a table, found an integer (3)");
}

TEST_CASE("schedule") {
  Config c = parse("[schedule]\ntype = 'interleaved'\nmicro_batches = 4\n[schedule.interleaved]\nchunks = 2\n");
  CHECK(c.schedule.type.name == "interleaved");
  CHECK(c.schedule.type.place.line == 2);
  CHECK(c.schedule.micro_batches == 4);
  CHECK(c.schedule.type.table("interleaved").find("chunks")->integer() == 2);
  CHECK(!c.schedule.file);
  CHECK(parse("[schedule]\ntype = 'file'\nfile = 's.json'\n").schedule.file->text == "/conf/s.json");
  CHECK(parse("[schedule]\ntype = 'file'\n[schedule.file]\npath = 's.json'\n").schedule.file->text == "/conf/s.json");
  CHECK_HOLDS(wrong("[schedule]\ntype = 'file'\n"), "schedule.file is missing");
  CHECK_HOLDS(wrong("[schedule]\nfile = 3\n"),
              "schedule.file: wanted a path, or a table with the key path, found an integer");
  CHECK_HOLDS(wrong("[schedule.file]\npth = 's'\n"), "schedule.file.pth: unknown key; did you mean 'path'?");
  for (const char* value : {"4.0", "'4'", "true"})
    CHECK_HOLDS(wrong(std::string("[schedule]\nmicro_batches = ") + value + "\n"),
                "schedule.micro_batches: wanted an integer from 1 to 2147483647, found a ");
}

TEST_CASE("precision") {
  Config c = parse(
      "[precision]\ntype = 'fp16'\nkeep_fp32 = ['type:linear']\nloss_scale = 1024\ngradients = 'bf16'\ntf32 = true\n");
  CHECK(c.precision.type == "fp16");
  CHECK(c.precision.keep_fp32[0].by_type());
  CHECK(c.precision.keep_fp32[0].place().prefix() == "/conf/t.toml:3:14: ");
  CHECK(c.precision.loss_scale == 1024.0);
  CHECK(c.precision.gradients == "bf16");
  CHECK(c.precision.tf32);
  CHECK(!parse("[precision]\nloss_scale = 'dynamic'\n").precision.loss_scale);
  CHECK_HOLDS(wrong("[precision]\nloss_scale = 0\n"), "wanted a float above 0, or \"dynamic\", found an integer (0)");
  CHECK_HOLDS(wrong("[precision]\ntype = '16-mixed'\n"),
              "found a string (\"16-mixed\"); write precision.type = \"fp16\"");
}

TEST_CASE("optimizer: its options are kept as written") {
  Config c = parse("[train]\noptimizer = { type = 'sgd', lr = 1, momentum = 0.9 }\n");
  CHECK(c.train->optimizer.type == "sgd");
  CHECK(c.train->optimizer.type_place.line == 2);
  CHECK(c.train->optimizer.options.table().size() == 2);
  CHECK(c.train->optimizer.options.find("lr")->integer() == 1);
  CHECK(parse("[train]\noptimizer = { lr = 1 }\n").train->optimizer.type == "adamw");
  CHECK_HOLDS(wrong("[train]\noptimizer = 'adam'\n"), "train.optimizer: wanted a table, found a string (\"adam\")");
  CHECK_HOLDS(wrong("[train]\noptimizer = { type = 3 }\n"), "train.optimizer.type: wanted a string");
}

TEST_CASE("optimizer: sub-tables hold the options of each, so that one key swaps it") {
  const char* text =
      "[train.optimizer]\ntype = 'adamw'\n[train.optimizer.adamw]\nbetas = [0.9, "
      "0.99]\n[train.optimizer.sgd]\nmomentum = 0.9\n";
  Config c = parse(text);
  CHECK(c.train->optimizer.options.find("betas"));
  CHECK(c.train->optimizer.others.find("sgd"));
  CHECK(!c.train->optimizer.others.find("adamw"));
  c = parse(text, {"train.optimizer.type=sgd"});
  CHECK(c.train->optimizer.options.find("momentum"));
  CHECK(c.train->optimizer.others.find("adamw"));
  CHECK_HOLDS(wrong("[train.optimizer]\nlr = 1.0\n[train.optimizer.adamw]\nlr = 2.0\n"),
              "is also given as train.optimizer.lr");
}

TEST_CASE("learning rate schedule and recompute") {
  Config c = parse("[train]\nlr_schedule = { type = 'cosine', warmup = 50, final = 0 }\nrecompute = ['a']\n");
  CHECK(c.train->lr_schedule.type == "cosine");
  CHECK(c.train->lr_schedule.warmup == 50);
  CHECK(c.train->lr_schedule.final == 0.0);
  CHECK(c.train->recompute.mode == RecomputeConfig::Mode::patterns);
  CHECK(c.train->recompute.patterns[0].text() == "a");
  using Mode = RecomputeConfig::Mode;
  CHECK(parse("[train]\nrecompute = true\n").train->recompute.mode == Mode::all);
  CHECK(parse("[train]\nrecompute = false\n").train->recompute.mode == Mode::none);
  CHECK(parse("[train]\nrecompute = 'auto'\n").train->recompute.mode == Mode::automatic);
  CHECK(parse("[train]\nrecompute = '*'\n").train->recompute.mode == Mode::patterns);
  CHECK_HOLDS(wrong("[train]\nlr_schedule = { type = 'cosin' }\n"), "did you mean \"cosine\"?");
}

TEST_CASE("data has one source") {
  CHECK(parse("[data]\ntext = 'b'\n").data->source == DataConfig::Source::text);
  CHECK(parse("[data]\ntensors = 'b'\n").data->source == DataConfig::Source::tensors);
  Config c = parse("[data]\ntable = 't.csv'\ntarget = 'species'\norder = 'given'\nvalidation = 0\n");
  CHECK(c.data->source == DataConfig::Source::table);
  CHECK(c.data->files[0].text == "/conf/t.csv");
  CHECK(c.data->target == "species");
  CHECK(!c.data->shuffled);
  CHECK(c.data->validation == 0);
  CHECK(parse("[data]\nsynthetic = 'tokens'\n").data->synthetic == "tokens");
  CHECK_HOLDS(wrong("[data]\n"), "data: wanted one of text, table, tensors, synthetic, found none");
  CHECK_HOLDS(wrong("[data]\ntext = 'a'\ntensors = 'b'\n"), "data.tensors: data.text is given too");
  CHECK_HOLDS(wrong("[data]\ntable = 't.csv'\n"), "data.target is missing");
  CHECK_HOLDS(wrong("[data]\ntext = 'a'\ntarget = 'x'\n"), "data.target: names a column of data.table");
  CHECK_HOLDS(wrong("[data]\ntext = []\n"), "data.text: the list is empty");
  CHECK_HOLDS(wrong("[data]\ntext = 'a'\nvalidation = 1.0\n"),
              "data.validation: wanted a share from 0 to below 1, or a file");
}

TEST_CASE("two configurations in one process do not meet") {
  Config a = parse("seed = 1\n"), b = parse("seed = 2\n");
  CHECK(a.seed == 1);
  CHECK(b.seed == 2);
}
