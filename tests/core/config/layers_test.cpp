#include "config/layers.hpp"

#include <doctest/doctest.h>

#include "config/toml.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

std::vector<LayerEntry> expand(const std::string& text) {
  Value document = parse_toml(text, "f");
  ErrorList errors;
  std::vector<LayerEntry> layers = expand_layers(*document.find("layer"), errors);
  errors.raise();
  return layers;
}

std::string wrong_layers(const std::string& text) {
  return refusal([&] { expand(text); });
}

/// "a.0 <- batch.inputs; a.1 <- a.0"
std::string graph(const std::vector<LayerEntry>& layers) {
  std::string text;
  for (const LayerEntry& layer : layers) {
    text += (text.empty() ? "" : "; ") + layer.name + " <-";
    for (const LayerInput& input : layer.inputs) {
      text += " " + (input.layer < 0 ? "batch." + input.batch : layers[static_cast<std::size_t>(input.layer)].name);
      if (input.output) text += ":" + std::to_string(input.output);
    }
  }
  return text;
}

std::string entry(const std::string& keys) { return "[[layer]]\n" + keys + "\n"; }
std::string part(const std::string& keys) { return "[[layer.layer]]\n" + keys + "\n"; }

}  // namespace

TEST_CASE("layers are chained, and the first reads the batch's inputs") {
  CHECK(graph(expand(entry("type='x'\nname='a'") + entry("type='x'\nname='b'"))) == "a <- batch.inputs; b <- a");
}

TEST_CASE("repeat numbers the copies, one without repeat has no number") {
  CHECK(graph(expand(entry("type='x'\nname='h'\nrepeat=3") + entry("type='x'\nname='end'"))) ==
        "h.0 <- batch.inputs; h.1 <- h.0; h.2 <- h.1; end <- h.2");
  CHECK(expand(entry("type='x'\nname='h'\nrepeat=1"))[0].name == "h.0");
  CHECK(expand(entry("type='x'\nname='h'"))[0].name == "h");
}

TEST_CASE("unnamed layers are TYPE.k, counted for each type") {
  auto layers = expand(entry("type='x'") + entry("type='y'\nrepeat=2") + entry("type='x'") + entry("type='y'"));
  std::vector<std::string> names;
  for (const LayerEntry& layer : layers) names.push_back(layer.name);
  CHECK(names == std::vector<std::string>{"x.0", "y.0", "y.1", "x.1", "y.2"});
}

TEST_CASE("layers are numbered after expansion") {
  auto layers = expand(entry("type='x'\nname='e'") + entry("type='gpt_block'\nname='h'\nrepeat=6"));
  CHECK(layers.size() == 7);
  CHECK(layers[4].index == 4);
  CHECK(describe_layer(layers[4]) == "layer 4 'h.3' (gpt_block)");
}

TEST_CASE("groups: names are local, in is what enters the copy") {
  auto layers = expand(entry("type='x'\nname='stem'") + entry("name='h'\nrepeat=2") + part("type='conv'\nname='conv'") +
                       part("type='add'\ninput=['conv','in']") + entry("type='x'\nname='end'"));
  CHECK(graph(layers) ==
        "stem <- batch.inputs; h.0.conv <- stem; h.0.add.0 <- h.0.conv stem; h.1.conv <- h.0.add.0; "
        "h.1.add.0 <- h.1.conv h.0.add.0; end <- h.1.add.0");
  CHECK(layers[1].groups == std::vector<std::string>{"h.0"});
  CHECK(layers[0].groups.empty());
}

TEST_CASE("groups without a name or repeat, and groups within groups") {
  CHECK(graph(expand(entry("name='g'") + part("type='x'\nname='a'"))) == "g.a <- batch.inputs");
  CHECK(graph(expand(entry("repeat=2") + part("type='x'\nname='a'"))) ==
        "group.0.a <- batch.inputs; group.1.a <- group.0.a");
  auto layers = expand(
      entry("name='o'\nrepeat=2") + part("name='i'\nrepeat=2") +
      "[[layer.layer.layer]]\ntype='x'\nname='a'\n[[layer.layer.layer]]\ntype='y'\nname='b'\ninput=['a','in']\n");
  CHECK(layers.size() == 8);
  CHECK(layers[7].name == "o.1.i.1.b");
  CHECK(layers[7].groups == std::vector<std::string>{"o.1", "o.1.i.1"});
  CHECK(layers[layers[7].inputs[1].layer].name == "o.1.i.0.b");
}

TEST_CASE("inputs by name: outputs, tensors of the batch, group copies, and names of outer scopes") {
  CHECK(graph(expand(entry("type='split'\nname='split'") + entry("type='x'\nname='b'\ninput='split:1'"))) ==
        "split <- batch.inputs; b <- split:1");
  CHECK(graph(expand(entry("type='x'\nname='a'\ninput=['batch.left','batch.right']"))) ==
        "a <- batch.left batch.right");
  CHECK(graph(expand(entry("name='g'\nrepeat=2") + part("type='x'\nname='a'") +
                     entry("type='cat'\nname='c'\ninput=['g.0','g.1','g.0.a']"))) ==
        "g.0.a <- batch.inputs; g.1.a <- g.0.a; c <- g.0.a g.1.a g.0.a");
  CHECK(graph(expand(entry("type='x'\nname='stem'") + entry("name='g'\nrepeat=2") +
                     part("type='x'\nname='a'\ninput=['in','stem']"))) ==
        "stem <- batch.inputs; g.0.a <- stem stem; g.1.a <- g.0.a stem");
}

TEST_CASE("a local name hides an outer one") {
  CHECK(graph(expand(entry("type='x'\nname='a'") + entry("name='g'") + part("type='x'\nname='a'") +
                     part("type='x'\nname='b'\ninput='a'"))) == "a <- batch.inputs; g.a <- a; g.b <- g.a");
}

TEST_CASE("a repeated entry with inputs is chained through its first one") {
  CHECK(graph(expand(entry("type='x'\nname='m'") + entry("type='x'\nname='z'") +
                     entry("type='cross'\nname='h'\nrepeat=3\ninput=['z','m']"))) ==
        "m <- batch.inputs; z <- m; h.0 <- z m; h.1 <- h.0 m; h.2 <- h.1 m");
  CHECK(graph(expand(entry("type='x'\nname='m'") + entry("type='x'\nname='z'") +
                     entry("name='g'\nrepeat=2\ninput=['m','z']") +
                     part("type='cross'\nname='c'\ninput=['in','in:1']"))) ==
        "m <- batch.inputs; z <- m; g.0.c <- m z; g.1.c <- g.0.c z");
}

TEST_CASE("whether inputs were given is known") {
  auto layers = expand(entry("type='x'\nname='a'") + entry("type='x'\nname='b'\ninput='a'"));
  CHECK(!layers[0].inputs_given);
  CHECK(layers[1].inputs_given);
  CHECK(layers[1].inputs[0].place.line == 7);
  CHECK(layers[0].inputs[0].place.line == 1);
}

TEST_CASE("keys of the layer's type are kept as written and shared by copies") {
  auto layers = expand(entry("type='x'\nname='h'\nrepeat=2\ntrainable=false\ninit='zeros'\nheads=8\nsub={a=1}"));
  CHECK(layers[0].options == layers[1].options);
  CHECK(layers[0].options->table().size() == 2);
  CHECK(layers[0].options->find("heads")->place.prefix() == "f:7:7: ");
  CHECK(!layers[0].trainable);
  CHECK(layers[0].init == "zeros");
  CHECK(layers[0].init_place.line == 6);
  CHECK(layers[0].place.prefix() == "f:1:1: ");
  CHECK(layers[0].type_place.line == 2);
}

TEST_CASE("entries with a type are counted in the order of the file") {
  auto layers =
      expand(entry("name='g'\nrepeat=2") + part("type='x'\nname='a'") + part("type='y'\nname='b'") + entry("type='z'"));
  CHECK(layers[0].entry == 0);
  CHECK(layers[1].entry == 1);
  CHECK(layers[2].entry == 0);
  CHECK(layers[4].entry == 2);
}

TEST_CASE("a group hands trainable and init down; a part may differ") {
  auto layers = expand(entry("name='g'\ntrainable=false\ninit='zeros'") + part("type='x'") +
                       part("type='x'\ntrainable=true") + part("type='x'\ninit='ones'") + entry("type='y'"));
  CHECK(!layers[0].trainable);
  CHECK(layers[0].init == "zeros");
  CHECK(layers[1].trainable);
  CHECK(layers[2].init == "ones");
  CHECK(layers[3].trainable);
}

TEST_CASE("equal names are refused once") {
  CHECK_HOLDS(wrong_layers(entry("type='x'\nname='a'") + entry("type='x'\nname='a'")),
              "f:6:6: two layers are called 'a'");
  CHECK_HOLDS(wrong_layers(entry("type='x'\nname='h'\nrepeat=3") + entry("type='x'\nname='h.1'")),
              "two layers are called 'h.1'");
  CHECK_HOLDS(wrong_layers(entry("type='x'\nname='h'\nrepeat=2") + entry("type='x'\nname='h'\nrepeat=2")),
              "two layers are called 'h.0'");
  CHECK(lines(wrong_layers(entry("type='x'\nname='h'\nrepeat=9") + entry("type='x'\nname='h'\nrepeat=9"))) == 1);
  CHECK_HOLDS(wrong_layers(entry("name='g'") + part("type='x'") + entry("type='x'\nname='g'")),
              "two layers are called 'g'");
}

TEST_CASE("unknown inputs get the nearest name, once for all copies") {
  std::string a = entry("type='x'\nname='alpha'");
  CHECK_HOLDS(wrong_layers(a + entry("type='x'\ninput='alpah'")),
              "f:6:7: input \"alpah\": there is no earlier layer of this name; did you mean 'alpha'?");
  CHECK_HOLDS(wrong_layers(a + entry("type='x'\nname='b'\ninput='c'") + entry("type='x'\nname='c'")), "comes later");
  CHECK_HOLDS(wrong_layers(a + entry("type='x'\nname='b'\ninput='b'")), "cannot read itself");
  CHECK_HOLDS(wrong_layers(entry("type='x'\nname='h'\nrepeat=2") + entry("type='x'\ninput='h'")),
              "name one copy, such as \"h.0\"");
  CHECK_HOLDS(wrong_layers(a + entry("type='x'\ninput='alpha:x'")), "number of an output");
  CHECK_HOLDS(wrong_layers(a + entry("type='x'\ninput='alpha:9999999'")), "number of an output");
  CHECK_HOLDS(wrong_layers(a + entry("type='x'\ninput='in'")), "this layer is in none");
  CHECK_HOLDS(wrong_layers(entry("name='g'") + part("type='x'\ninput='in:1'")), "1 enter the group");
  std::string many = wrong_layers(a + entry("name='g'\nrepeat=50") + part("type='x'\nname='p'\ninput='conv'"));
  CHECK(lines(many) == 1);
}

TEST_CASE("entries are checked for the core's keys") {
  CHECK_HOLDS(wrong_layers(entry("name='a'")), "f:1:1: layer.0 'a': has neither type (a layer) nor layer (a group)");
  CHECK_HOLDS(wrong_layers(entry("type='x'\nlayer=[{type='y'}]")), "has both type and layer");
  CHECK_HOLDS(wrong_layers(entry("type=3")), "layer.0: type: wanted a string, found an integer (3)");
  CHECK_HOLDS(wrong_layers(entry("type=''")), "type is empty");
  CHECK_HOLDS(wrong_layers(entry("type='x'\nrepeat=0")), "layer.0: repeat: wanted an integer from 1 to 100000");
  CHECK_HOLDS(wrong_layers(entry("type='x'\nrepeat=2.0")), "found a float (2.0)");
  CHECK_HOLDS(wrong_layers(entry("type='x'\ntrainable=1")), "trainable: wanted true or false");
  CHECK_HOLDS(wrong_layers(entry("type='x'\ninput=[]")), "input: the list is empty");
  CHECK_HOLDS(wrong_layers(entry("type='x'\ninput=[3]")), "input: wanted a list of strings");
  CHECK_HOLDS(wrong_layers(entry("name='g'\nrepaet=2") + part("type='x'")),
              "layer.0 'g': repaet: unknown key of a group; did you mean 'repeat'?");
  CHECK_HOLDS(wrong_layers(entry("name='g'\nlayer=[]")), "layer.0.layer: the list is empty");
  CHECK_HOLDS(wrong_layers(entry("name='g'\nlayer=3")), "layer.0.layer: wanted a list of tables");
  CHECK_HOLDS(wrong_layers(entry("name='g'") + part("type='x'") + part("repeat=0\ntype='x'")),
              "layer.0.layer.1: repeat");
  CHECK_HOLDS(wrong_layers("layer = 3\n"), "layer: wanted a list of tables");
  CHECK_HOLDS(wrong_layers("[layer]\ntype='x'\n"), "layer: wanted a list of tables, one for each layer; found a table");
}

TEST_CASE("names that could not be written elsewhere are refused") {
  for (const char* name : {"", "a b", "a*", "a:1", "type:x", ".a", "a.", "a..b", "a{b}", "in", "batch", "batch.x"})
    CHECK_MESSAGE(wrong_layers(entry(std::string("type='x'\nname='") + name + "'")) != "", name);
  for (const char* name : {"a", "A_1-b", "enc.0", "0", "\u00fcber"})
    CHECK_MESSAGE(wrong_layers(entry(std::string("type='x'\nname='") + name + "'")) == "", name);
}

TEST_CASE("many layers expand quickly, too many are refused") {
  CHECK(expand(entry("name='o'\nrepeat=100") + part("type='x'\nname='p'\nrepeat=100")).size() == 10000);
  CHECK_HOLDS(wrong_layers(entry("name='o'\nrepeat=100000") + part("type='x'\nname='p'\nrepeat=100000")),
              "more than 100000 layers");
}

TEST_CASE("defaults are filled into the list, before expansion") {
  Value document = parse_toml(entry("name='g'\nrepeat=2\ninit='zeros'") + part("type='x'\nwidth=3"), "f");
  ErrorList errors;
  expand_layers(*document.find("layer"), errors);
  const Value& group = document.find("layer")->array()[0];
  CHECK(group.find("trainable")->boolean());
  const Value& inner = group.find("layer")->array()[0];
  CHECK(inner.find("init")->string() == "zeros");
  CHECK(inner.find("init")->place.line == 4);
  CHECK(inner.find("repeat") == nullptr);
}

TEST_CASE("options of a layer are checked against its type's, in the words of the layer") {
  auto layers = expand(entry("type='gpt_block'\nname='h'\nrepeat=2\nhaeds=8\nrepaet=3"));
  std::vector<OptionSpec> specs = {{"heads", SY_T_I64, "4", 1, 64, {}, "", "", ""}};
  ErrorList errors;
  Options options = check_layer_options(layers[1], specs, errors);
  std::string text = refusal([&] { errors.raise(); });
  CHECK_HOLDS(text, "f:5:1: layer 1 'h.1' (gpt_block): haeds: unknown key; did you mean 'heads'?");
  CHECK_HOLDS(text, "repaet: unknown key; did you mean 'repeat'?");
  CHECK(options.i64("heads") == 4);
}
