// Training as a whole job, with the caller's callbacks.
#include <atomic>
#include <nlohmann/json.hpp>

#include "api/call.hpp"
#include "api/handle.hpp"

using namespace switchyard;
using namespace switchyard::api;
using Json = nlohmann::ordered_json;

namespace {

/// A report as the caller sees it; lends what it points to.
class LentReport {
 public:
  explicit LentReport(const Report& from) {
    for (const DevicePeak& p : from.peaks)
      peaks_.push_back({sizeof(sy_peak), 0, p.device.c_str(), p.planned, p.measured});
    for (const sy_peak& p : peaks_) pointers_.push_back(&p);
    report_.size = sizeof(report_);
    report_.skipped = from.skipped;
    report_.step = from.step;
    report_.steps = from.steps;
    report_.tokens = from.tokens;
    report_.loss = from.loss;
    report_.grad_norm = from.grad_norm;
    report_.lr = from.lr;
    report_.loss_scale = or_nan(from.loss_scale);
    report_.accuracy = or_nan(from.accuracy);
    report_.val_loss = or_nan(from.val_loss);
    report_.val_accuracy = or_nan(from.val_accuracy);
    report_.tokens_per_s = from.tokens_per_s;
    report_.seconds = from.seconds;
    report_.seconds_left = from.seconds_left;
    report_.counts_tokens = from.counts_tokens;
    report_.n_peaks = static_cast<uint32_t>(pointers_.size());
    report_.peaks = pointers_.data();
  }
  LentReport(const LentReport&) = delete;
  LentReport& operator=(const LentReport&) = delete;
  const sy_report* get() const { return &report_; }

 private:
  sy_report report_{};
  std::vector<sy_peak> peaks_;
  std::vector<const sy_peak*> pointers_;
};

Hooks hooks_of(const sy_train_options& o, std::atomic<bool>& stop) {
  Hooks hooks;
  hooks.stop = &stop;
  if (o.on_step)
    hooks.tick = [&o, &stop](const Report& r) {
      if (o.on_step(o.user, LentReport(r).get()) != 0) stop = true;
    };
  if (o.on_report)
    hooks.report = [&o, &stop](const Report& r) {
      if (o.on_report(o.user, LentReport(r).get()) != 0) stop = true;
    };
  if (o.on_event) hooks.event = [&o](const std::string& line) { o.on_event(o.user, line.c_str()); };
  return hooks;
}

TrainOptions options_of(const sy_train_options& o) {
  TrainOptions options;
  if (o.flags & ~SY_TRAIN_NO_FILES) throw Error(SY_E_ARGUMENT, "flags: only SY_TRAIN_NO_FILES is known");
  if (o.at_most < 0) throw Error(SY_E_ARGUMENT, "at_most = " + std::to_string(o.at_most) + ": wanted 0 or more");
  options.files = !(o.flags & SY_TRAIN_NO_FILES);
  if (o.out) options.out = o.out;
  if (o.resume) options.resume = o.resume;
  if (o.trace) options.trace = o.trace;
  if (o.at_most > 0) options.at_most = o.at_most;
  return options;
}

/// What the loss is measured in, where that is known.
const char* loss_unit(const Session& session) {
  if (session.data().train->targets().kind != TargetKind::tokens) return nullptr;
  const DataOptions& data = session.data().options;
  return !data.text.empty() && data.tokenizer == "bytes" ? "nats per byte" : "nats per token";
}

std::string json_of(const TrainResult& r, const Session& session) {
  Json json;
  if (!r.folder.empty()) json["folder"] = r.folder;
  json["step"] = r.step;
  json["stopped"] = r.stopped;
  json["seconds"] = r.seconds;
  if (r.loss) json["loss"] = *r.loss;
  if (r.val_loss) json["val_loss"] = *r.val_loss;
  if (r.val_accuracy) json["val_accuracy"] = *r.val_accuracy;
  if (const char* unit = loss_unit(session)) json["unit"] = unit;
  json["peaks"] = Json::array();
  for (const DevicePeak& p : r.peaks)
    json["peaks"].push_back({{"name", p.device}, {"planned", p.planned}, {"measured", p.measured}});
  if (!r.sample_before.empty()) json["sample_before"] = r.sample_before;
  if (!r.sample_after.empty()) json["sample_after"] = r.sample_after;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

sy_rc sy_train(sy_runtime* runtime, const sy_train_options* given, char** give_json, sy_error** err) {
  return guard(err, [&] {
    RuntimeState& state = *alive(runtime).state;
    const sy_train_options options = read_struct(given, "options");
    const TrainOptions train_options = options_of(options);
    const Subject& subject = state.configured();
    const auto session = Session::open(subject.config, *state.registry, Purpose::train, subject.run);
    if (options.on_plan) options.on_plan(options.user, session->plan_text().c_str(), session->plan_json().c_str());
    std::atomic<bool> stop{false};
    run_on(*session, [&] {
      const TrainResult result = session->train(train_options, hooks_of(options, stop));
      give_text(give_json, json_of(result, *session));
    });
  });
}
