// Token embedding with learned positions on request: y[r, t] = token[id[r, t]] + position[t].
#pragma once

#include "blocks/cost.hpp"

namespace sy {

struct embedding_layer {
  static constexpr const char* position_kinds[] = {"none", "learned", nullptr};
  static constexpr const char* id = "embedding";
  static constexpr const char* help =
      "a learned vector for each id, plus one for each position on request; input ids [rows, time]; token.weight "
      "[vocabulary, width], position.weight [context, width]";
  static constexpr sy_option options[] = {
      i64_option("vocabulary", nullptr, 1, 1e9, "ids are 0 ... vocabulary - 1"),
      i64_option("width", nullptr, 1, 1e9, "width of the vectors"),
      str_option("positions", "\"none\"", position_kinds, "learned: add a vector for each position"),
      i64_option("context", "0", 0, 1e9, "learned positions: how many there are; 0: the length of the first input"),
  };
  struct saved {
    at::Tensor ids, dy;
  };
  explicit embedding_layer(const config& c);

  std::vector<port> infer(uint32_t kind, ports in);
  std::vector<param> params() const;
  sy::cost cost(uint32_t kind, const_ports in) const;
  void bind(const sy_binding& b) { params_.bind(params(), b); }
  saved forward(const sy_call& call);
  void backward_input(const sy_call& call, saved& kept);
  void backward_weight(const sy_call& call, saved&& kept);

 private:
  int64_t vocabulary_, width_, context_;
  bool learned_;
  bound_params params_;
};

}  // namespace sy
