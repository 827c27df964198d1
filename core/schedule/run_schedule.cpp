#include "schedule/run_schedule.hpp"

#include "plugin/host.hpp"
#include "schedule/find_fault.hpp"

namespace switchyard {

std::vector<std::vector<Action>> ask_schedule(const sy_schedule_api& api, sy_schedule* schedule,
                                              const std::vector<Stage>& stages, int n_devices, int micro_batches,
                                              const std::vector<StageTimes>& times, const std::vector<bool>& splits,
                                              bool forward_only) {
  std::vector<int32_t> device_of_stage;
  std::vector<double> f, i, w;
  std::vector<uint8_t> split(splits.begin(), splits.end());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    device_of_stage.push_back(stages[s].device);
    f.push_back(times[s].forward), i.push_back(times[s].input), w.push_back(times[s].weight);
  }
  struct Sink {
    std::vector<std::vector<Action>> programs;
    static sy_rc emit(void* self, int32_t device, uint32_t kind, int32_t stage, int32_t micro_batch, sy_error** err) {
      auto& programs = static_cast<Sink*>(self)->programs;
      if (device < 0 || device >= static_cast<int32_t>(programs.size()))
        return give_error(err, Error(SY_E_ARGUMENT, "the schedule names device " + std::to_string(device) + " of " +
                                                        std::to_string(programs.size())));
      programs[device].push_back({kind, stage, micro_batch});
      return SY_OK;
    }
  } sink;
  sink.programs.resize(n_devices);
  sy_schedule_in in{};
  in.size = sizeof(in);
  in.n_stages = static_cast<uint32_t>(stages.size());
  in.n_devices = static_cast<uint32_t>(n_devices);
  in.micro_batches = static_cast<uint32_t>(micro_batches);
  in.device_of_stage = device_of_stage.data();
  in.cost_f = f.data(), in.cost_i = i.data(), in.cost_w = w.data();
  in.splits = split.data();
  in.forward_only = forward_only;
  in.self = &sink;
  in.emit = Sink::emit;
  call_plugin([&](sy_error** e) { return api.plan(schedule, &in, e); });
  return std::move(sink.programs);
}

std::vector<std::vector<Action>> run_schedule(const sy_schedule_api& api, sy_schedule* schedule,
                                              const std::vector<Stage>& stages, int n_devices, int micro_batches,
                                              const std::vector<StageTimes>& times, const std::vector<bool>& splits,
                                              bool forward_only) {
  std::vector<std::vector<Action>> programs =
      ask_schedule(api, schedule, stages, n_devices, micro_batches, times, splits, forward_only);
  if (const auto fault = find_fault({stages, micro_batches, splits, forward_only}, programs))
    throw Error(SY_E_CONFIG, "the schedule is wrong: device " + std::to_string(fault->device) + ", action " +
                                 std::to_string(fault->position) + ": " + fault->text);
  return programs;
}

}  // namespace switchyard
