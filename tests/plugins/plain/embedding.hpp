// Rows of a table, chosen by ids; with learned positions when `context` is given.
#pragma once

#include "bound.hpp"

namespace plain {

class Embedding : public bound {
 public:
  static constexpr const char* id = "plain_embedding";
  static constexpr const char* help = "rows of a table, chosen by ids";
  static constexpr sy_option options[] = {
      sy::i64_option("vocabulary", nullptr, 1, 1e9, "rows of the table; ids are below it"),
      sy::i64_option("width", nullptr, 1, 1e9, "width of a row"),
      sy::i64_option("context", "0", 0, 1e9, "learned positions; 0: none"),
  };
  struct saved {
    sy::tensor ids;
  };

  explicit Embedding(const sy::config& c)
      : vocabulary_(c.i64("vocabulary")), width_(c.i64("width")), context_(c.i64("context")) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 1);
    expect_ids(*in[0]);
    in[0]->id_limit = vocabulary_;
    if (context_ > 0 && (in[0]->ndim != 2 || in[0]->shape[1] > context_))
      throw sy::fault(SY_E_CONFIG,
                      "expected ids [rows, length] with at most " + std::to_string(context_) + " positions");
    sy::port y{sy::shape_of(*in[0]), in[0]->compute.bits ? in[0]->compute : sy::f32, true};
    y.shape.push_back(width_);
    return {y};
  }
  std::vector<sy::param> params() const {
    std::vector<sy::param> all{{"token.weight", {vocabulary_, width_}, "normal(0.02)"}};
    if (context_ > 0) all.push_back({"position.weight", {context_, width_}, "normal(0.02)"});
    return all;
  }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    sy::cost c;
    c.flops_forward = c.flops_weight = static_cast<double>(elements(*in[0])) * static_cast<double>(width_);
    c.keep_in = 1;
    return c;
  }
  saved forward(const sy_call& call) {
    const sy_view& ids = in(call, 0);
    const std::vector<float> table = read(value(0));
    const std::vector<float> positions = context_ > 0 ? read(value(1)) : std::vector<float>();
    const auto width = static_cast<std::size_t>(width_);
    std::vector<float> y;
    std::size_t n = 0;
    for (const int64_t t : read_ids(ids)) {
      if (t < 0 || t >= vocabulary_) throw sy::fault(SY_E_DATA, "id " + std::to_string(t) + " is out of range");
      const std::size_t position = positions.empty() ? 0 : n++ % static_cast<std::size_t>(ids.shape[1]);
      for (std::size_t c = 0; c < width; ++c)
        y.push_back(table[static_cast<std::size_t>(t) * width + c] +
                    (positions.empty() ? 0 : positions[position * width + c]));
    }
    std::vector<int64_t> s = shape(ids);
    s.push_back(width_);
    call.out[0] = made(call, s, value(0).dtype, std::span<const float>(y));
    return {sy::tensor::keep(call.in[0])};
  }
  void backward(const sy_call& call, saved&& s) {
    if (!call.in[0]) return;
    const std::vector<float> dy = read(in(call, 0));
    const std::vector<int64_t> ids = read_ids(s.ids.view());
    const auto width = static_cast<std::size_t>(width_);
    std::vector<double> table(static_cast<std::size_t>(vocabulary_) * width),
        positions(static_cast<std::size_t>(context_) * width);
    for (std::size_t n = 0; n < ids.size(); ++n)
      for (std::size_t c = 0; c < width; ++c) {
        table[static_cast<std::size_t>(ids[n]) * width + c] += dy[n * width + c];
        if (context_ > 0)
          positions[n % static_cast<std::size_t>(s.ids.view().shape[1]) * width + c] += dy[n * width + c];
      }
    add_gradient(0, table);
    if (context_ > 0) add_gradient(1, positions);
  }

 private:
  int64_t vocabulary_, width_, context_;
};

}  // namespace plain
