#include "data/data_set.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "data/synthetic.hpp"
#include "data/table.hpp"
#include "data/tensor_rows.hpp"
#include "data/text.hpp"
#include "data/tokenizer.hpp"

namespace switchyard {
namespace {

[[noreturn]] void fail(const DataOptions& options, const std::string& text) {
  throw Error(SY_E_CONFIG, options.place, text);
}

/// Held-out samples or bytes of `all`, rounded to nearest.
std::int64_t held_out(const DataOptions& options, std::int64_t all) {
  return std::llround(static_cast<double>(all) * options.validation);
}

void check_options(const DataOptions& options) {
  const int kinds =
      !options.text.empty() + !options.table.empty() + !options.tensors.empty() + !options.synthetic.empty();
  if (kinds != 1)
    fail(options, "[data] needs exactly one of text, table, tensors, synthetic; it has " + std::to_string(kinds));
  if (!(options.validation >= 0 && options.validation < 1))
    fail(options,
         "data.validation is a share from 0 to below 1, or a file; it is " + std::to_string(options.validation));
  const bool tokens = !options.text.empty() || !options.synthetic.empty();
  if (tokens && options.context < 1) fail(options, "[data] gives tokens: model.context must say how many in a row");
}

/// One part of a text, for its length check.
struct TextPart {
  const char* name;
  std::int64_t tokens;
};

void check_text(const DataOptions& options, std::int64_t all, std::initializer_list<TextPart> parts) {
  ErrorList mistakes;
  for (const TextPart& part : parts) {
    if (part.tokens > options.context) continue;
    const std::string of = part.tokens == all ? "" : " of the text's " + std::to_string(all);
    mistakes.add(options.place, std::string("the ") + part.name + " part has " + std::to_string(part.tokens) + of +
                                    " tokens, need >= " + std::to_string(options.context + 1) + " (model.context + 1)");
  }
  mistakes.raise(SY_E_CONFIG);
}

void open_text(DataSet& set) {
  const DataOptions& options = set.options;
  make_tokenizer(options.tokenizer);
  const auto text = Text::open(options.text);
  const std::int64_t all = text->size();
  if (!options.validation_file.empty()) {
    const auto tail = Text::open({options.validation_file});
    check_text(options, all, {{"training", all}});
    check_text(options, tail->size(), {{"validation", tail->size()}});
    set.train = make_text_source(text, 0, all, options.context);
    set.validation = make_text_source(tail, 0, tail->size(), options.context);
    return;
  }
  const std::int64_t held = held_out(options, all);
  if (options.validation == 0) {
    check_text(options, all, {{"training", all}});
  } else {
    check_text(options, all, {{"training", all - held}, {"validation", held}});
    set.validation = make_text_source(text, all - held, all, options.context);
  }
  set.train = make_text_source(text, 0, all - held, options.context);
}

/// Splits rows into the two parts; `held_out_rows` come from a file of their own where that is given.
void split_rows_of(DataSet& set, const std::shared_ptr<const Rows>& rows,
                   const std::shared_ptr<const Rows>& held_out_rows) {
  const DataOptions& options = set.options;
  const std::int64_t held = held_out_rows ? held_out_rows->count : held_out(options, rows->count);
  const std::int64_t train = held_out_rows ? rows->count : rows->count - held;
  ErrorList mistakes;
  const std::string of = held_out_rows ? "" : " of " + std::to_string(rows->count);
  if (train == 0) mistakes.add(options.place, "the training part has 0" + of + " samples, need >= 1");
  const bool wanted = held_out_rows || options.validation > 0;
  if (wanted && held == 0)
    mistakes.add(options.place,
                 "the validation part has 0" + of + " samples, need >= 1; data.validation = 0 is for none");
  mistakes.raise(SY_E_CONFIG);
  set.train = make_row_source(rows, 0, train);
  if (held_out_rows)
    set.validation = make_row_source(held_out_rows, 0, held);
  else if (wanted)
    set.validation = make_row_source(rows, train, held);
}

void open_table(DataSet& set) {
  const DataOptions& options = set.options;
  if (options.target.empty()) fail(options, "data.table needs data.target, the column to predict");
  TableOptions wanted{options.target, options.targets, options.ignore, nullptr, nullptr};
  const Table table = read_table(options.table, wanted);
  std::shared_ptr<const Rows> held;
  if (!options.validation_file.empty()) {
    const TargetSpec& targets = table.rows->targets;
    wanted.kind = targets.kind;
    wanted.columns = &table.columns;
    if (!targets.class_names.empty()) wanted.classes = &targets.class_names;
    held = read_table(options.validation_file, wanted).rows;
  }
  split_rows_of(set, table.rows, held);
}

void open_tensors(DataSet& set) {
  const DataOptions& options = set.options;
  const auto rows = read_tensor_rows(options.tensors, options.ids, options.targets);
  std::shared_ptr<const Rows> held;
  if (!options.validation_file.empty()) {
    held = read_tensor_rows(options.validation_file, rows->inputs.dtype == id_dtype, rows->targets.kind);
    if (held->inputs.shape != rows->inputs.shape || held->targets.shape != rows->targets.shape)
      fail(options, "samples of '" + options.validation_file + "' are " + shape_text(held->inputs.shape) + " and " +
                        shape_text(held->targets.shape) + ", in training they are " + shape_text(rows->inputs.shape) +
                        " and " + shape_text(rows->targets.shape));
  }
  split_rows_of(set, rows, held);
}

void open_synthetic(DataSet& set) {
  const DataOptions& options = set.options;
  if (options.synthetic != "tokens")
    fail(options, "unknown data.synthetic '" + options.synthetic + "'; there is \"tokens\"");
  if (options.vocabulary < 1) fail(options, "data.synthetic = \"tokens\" needs a model with a vocabulary");
  if (!options.validation_file.empty()) fail(options, "data.synthetic holds out made-up tokens, not a file");
  set.train = make_synthetic_tokens(options.vocabulary, options.context, options.seed, "train");
  if (options.validation > 0)
    set.validation = make_synthetic_tokens(options.vocabulary, options.context, options.seed, "validation");
}

}  // namespace

SampleOrder DataSet::order(std::int64_t batch) const {
  OrderOptions order{OrderKind::given, train->samples(), 1, batch, options.drop_last, options.seed};
  if (!options.text.empty()) {
    order.kind = options.shuffled ? OrderKind::drawn : OrderKind::given;
    order.stride = options.context;
  } else if (options.synthetic.empty() && options.shuffled) {
    order.kind = OrderKind::permuted;
  }
  return SampleOrder::create(order);
}

std::vector<std::int64_t> DataSet::evaluation_samples(std::int64_t windows) const {
  std::vector<std::int64_t> samples;
  if (!validation) return samples;
  const std::int64_t all = validation->samples();
  const bool tokens = !options.text.empty() || !options.synthetic.empty();
  samples.resize(static_cast<std::size_t>(tokens ? std::min(windows, all) : all));
  std::iota(samples.begin(), samples.end(), std::int64_t{0});
  const auto last = static_cast<std::int64_t>(samples.size()) - 1;
  if (!options.text.empty() && last > 0)
    for (std::int64_t& sample : samples) sample = sample * (all - 1) / last;
  return samples;
}

DataSet open_data(const DataOptions& options) {
  check_options(options);
  DataSet set;
  set.options = options;
  if (!options.text.empty())
    open_text(set);
  else if (!options.table.empty())
    open_table(set);
  else if (!options.tensors.empty())
    open_tensors(set);
  else
    open_synthetic(set);
  return set;
}

}  // namespace switchyard
