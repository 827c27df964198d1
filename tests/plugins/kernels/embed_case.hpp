#pragma once

#include "kernels/embed.hpp"
#include "tensor.hpp"

namespace kernels {

inline Tensor draw_ids(int64_t n, int64_t vocabulary, sy_dtype type, int64_t distinct) {
  std::mt19937 engine(81);
  Tensor ids(type, n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t id = static_cast<int64_t>(engine() % static_cast<uint32_t>(distinct)) * 7919 % vocabulary;
    std::memcpy(static_cast<char*>(ids.data()) + i * (type.bits / 8), &id, type.bits / 8);
  }
  return ids;
}
inline int64_t id_at(const Tensor& ids, int64_t i) {
  int64_t id = 0;
  std::memcpy(&id, static_cast<const char*>(const_cast<Tensor&>(ids).data()) + i * (ids.type.bits / 8),
              ids.type.bits / 8);
  return id;
}

struct Embed {
  embed_size size;
  Tensor ids, token, position, y;

  Embed(int64_t rows, int64_t time, int64_t width, sy_dtype type, sy_dtype id_type, bool positions)
      : size{rows, time, width, 100, type, id_type},
        ids(draw_ids(rows * time, 100, id_type, 100)),
        token(normal(type, 100 * width, 82)),
        y(type, rows * time * width) {
    if (positions) position = normal(type, (time + 1) * width, 83);
  }
  void run(Place& place) { embed(place.on, size, place.at(ids), place.at(token), place.at(position), place.at(y)); }
  std::vector<Output> outputs() { return {{"y", &y, 1}}; }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> all;
    for (int64_t k = 0; k < ids.count; ++k)
      for (int64_t c = 0; c < size.width; ++c)
        all.push_back(token.at(id_at(ids, k) * size.width + c) +
                      (position.count ? position.at(k % size.time * size.width + c) : 0));
    return {all};
  }
};

struct EmbedBackward {
  embed_size size;
  Tensor ids, dy, token, position, token_before, position_before, room;

  EmbedBackward(int64_t rows, int64_t time, int64_t width, int64_t vocabulary, int64_t distinct, sy_dtype type,
                sy_dtype gradient, bool tokens = true, bool positions = true, sy_dtype id_type = sy::i64)
      : size{rows, time, width, vocabulary, type, id_type},
        ids(draw_ids(rows * time, vocabulary, id_type, distinct)),
        dy(normal(type, rows * time * width, 84)) {
    if (tokens) token = normal(gradient, vocabulary * width, 85);
    if (positions) position = normal(gradient, time * width, 86);
    token_before = token, position_before = position;
  }
  void run(Place& place) {
    room = scratch(embed_backward_scratch(place.on, size));
    embed_backward(place.on, size, place.at(ids), place.at(dy), place.gradient(token), place.gradient(position),
                   place.at(room));
  }
  std::vector<Output> outputs() {
    std::vector<Output> all;
    const double many = 8 + 4 * std::sqrt(static_cast<double>(size.rows * size.time));
    if (token.count) all.push_back({"token", &token, many});
    if (position.count) all.push_back({"position", &position, many});
    return all;
  }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> tokens, positions;
    for (int64_t i = 0; i < token.count; ++i) tokens.push_back(token_before.at(i));
    for (int64_t i = 0; i < position.count; ++i) positions.push_back(position_before.at(i));
    for (int64_t k = 0; k < ids.count; ++k)
      for (int64_t c = 0; c < size.width; ++c) {
        const double d = dy.at(k * size.width + c);
        if (token.count) tokens[static_cast<std::size_t>(id_at(ids, k) * size.width + c)] += d;
        if (position.count) positions[static_cast<std::size_t>(k % size.time * size.width + c)] += d;
      }
    std::vector<std::vector<double>> all;
    if (token.count) all.push_back(tokens);
    if (position.count) all.push_back(positions);
    return all;
  }
};

}  // namespace kernels
