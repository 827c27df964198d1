// Names of the codes that cross the border.
#pragma once

#include "switchyard/base.h"

namespace switchyard {

/// "SY_E_CONFIG"; nullptr for a number that this version does not know. [any]
const char* code_name(sy_rc code);
/// "the configuration is wrong": what to say when an error came without a text; nullptr likewise. [any]
const char* code_text(sy_rc code);

}  // namespace switchyard
