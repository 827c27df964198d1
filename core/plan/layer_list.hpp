// Layers, stages and times as a person reads them: "embed, h.0 .. h.2, head".
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.hpp"

namespace switchyard {

/// Layers first .. last; numbered neighbours become one range, whole group copies stand under the group's name.
std::string layer_list(const Model& model, int first, int last);
/// Those of the layers whose flag is set, likewise; long lists are cut in the middle.
std::string layer_list(const Model& model, const std::vector<bool>& chosen);
/// All layers of a device, stage by stage; long lists are cut in the middle. Empty: it has none.
std::string layers_of_device(const Plan& plan, const Model& model, int device);

/// "184 ms", "2.6 s"
std::string seconds_text(double s);
/// "22 GiB"
std::string size_text(uint64_t bytes);
/// 0.123: "12 %"
std::string percent(double share);

/// The stages whose device an earlier, not neighbouring stage was on already: activations come back to it.
int returns_to(const Plan& plan, int device);
/// Forward tensors that travel between two devices, for each micro-batch.
int hand_overs(const Plan& plan, bool backward);

}  // namespace switchyard
