#include "judge.hpp"

namespace sy::place {

void judge::evaluate(const split& what, const uint8_t* recompute, sy_evaluation& out) const {
  std::vector<int32_t> stage_of_layer;
  for (std::size_t s = 0; s < what.stages(); ++s)
    stage_of_layer.resize(static_cast<std::size_t>(what.end(s, static_cast<int32_t>(in_.n_layers))),
                          static_cast<int32_t>(s));
  sy_candidate candidate{};
  candidate.size = sizeof candidate;
  candidate.n_stages = static_cast<uint32_t>(what.stages());
  candidate.stage_of_layer = stage_of_layer.data();
  candidate.device_of_stage = what.device.data();
  candidate.recompute = recompute;
  out.size = sizeof out;
  out.misfit_layer = -1;
  check(in_.evaluate(in_.self, &candidate, &out, nullptr), "the core could not judge a contiguous placement");
}

verdict judge::judged(const split& what) const {
  verdict v;
  v.what = what;
  v.peak.assign(in_.n_devices, 0);
  std::vector<uint8_t> recomputed(in_.n_layers, 0);
  sy_evaluation e{};
  e.peak_bytes = v.peak.data();
  e.recompute = recomputed.data();
  evaluate(what, nullptr, e);
  v.fits = e.misfit_layer < 0;
  v.misfit_layer = e.misfit_layer;
  v.misfit_bytes = e.misfit_bytes;
  v.step_s = e.step_s;
  for (uint32_t i = 0; i < in_.n_layers; ++i)
    v.recomputed += in_.layers[i]->recompute == SY_RECOMPUTE_FREE && recomputed[i] != 0;
  for (std::size_t s = 0; s < what.stages(); ++s) {
    const double ratio = static_cast<double>(v.peak[static_cast<std::size_t>(what.device[s])]) / budget(what.device[s]);
    if (ratio > v.ratio) v.ratio = ratio, v.stage = s;
  }
  return v;
}

judge::plain judge::without_recompute(const split& what) const {
  std::vector<uint8_t> recompute(in_.n_layers, 0);
  for (uint32_t i = 0; i < in_.n_layers; ++i) recompute[i] = in_.layers[i]->recompute == SY_RECOMPUTE_ALWAYS;
  plain p{std::vector<uint64_t>(in_.n_devices, 0)};
  sy_evaluation e{};
  e.peak_bytes = p.peak.data();
  evaluate(what, recompute.data(), e);
  p.step_s = e.step_s;
  return p;
}

const verdict& judge::ask(const split& what) {
  const auto [at, is_new] = known_.try_emplace(what);
  verdict& v = at->second;
  if (!is_new) return v;
  v = judged(what);
  if (best_ == nullptr || goal_.is_better(v, *best_)) {
    second_ = best_;
    best_ = &v;
  } else if (second_ == nullptr || goal_.is_better(v, *second_)) {
    second_ = &v;
  }
  if (!v.fits && (shortest_misfit_ == nullptr || v.step_s < shortest_misfit_->step_s)) shortest_misfit_ = &v;
  return v;
}

}  // namespace sy::place
