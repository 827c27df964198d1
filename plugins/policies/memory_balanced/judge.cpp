#include "judge.hpp"

namespace sy::place {

bool is_better(const verdict& a, const verdict& b) {
  if (a.fits != b.fits) return a.fits;
  if (a.ratio != b.ratio) return a.ratio < b.ratio;
  if (a.what.stages() != b.what.stages()) return a.what.stages() > b.what.stages();
  if (a.step_s != b.step_s) return a.step_s < b.step_s;
  return a.what < b.what;
}

const verdict& judge::ask(const split& what) {
  const auto [at, is_new] = known_.try_emplace(what);
  verdict& v = at->second;
  if (!is_new) return v;
  std::vector<int32_t> stage_of_layer;
  for (std::size_t s = 0; s < what.stages(); ++s)
    stage_of_layer.resize(static_cast<std::size_t>(what.end(s, static_cast<int32_t>(in_.n_layers))),
                          static_cast<int32_t>(s));
  v.what = what;
  v.peak.assign(in_.n_devices, 0);
  sy_candidate candidate{};
  candidate.size = sizeof candidate;
  candidate.n_stages = static_cast<uint32_t>(what.stages());
  candidate.stage_of_layer = stage_of_layer.data();
  candidate.device_of_stage = what.device.data();
  sy_evaluation e{};
  e.size = sizeof e;
  e.misfit_layer = -1;
  e.peak_bytes = v.peak.data();
  check(in_.evaluate(in_.self, &candidate, &e, nullptr), "the core could not judge a contiguous placement");
  v.fits = e.misfit_layer < 0;
  v.misfit_layer = e.misfit_layer;
  v.misfit_bytes = e.misfit_bytes;
  v.step_s = e.step_s;
  for (std::size_t s = 0; s < what.stages(); ++s) {
    const double ratio = static_cast<double>(v.peak[static_cast<std::size_t>(what.device[s])]) / budget(what.device[s]);
    if (ratio > v.ratio) v.ratio = ratio, v.stage = s;
  }
  if (best_ == nullptr || is_better(v, *best_)) {
    second_ = best_;
    best_ = &v;
  } else if (second_ == nullptr || is_better(v, *second_)) {
    second_ = &v;
  }
  return v;
}

}  // namespace sy::place
