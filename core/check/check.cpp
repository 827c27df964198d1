#include "check/check.hpp"

#include "check/layer/layer_checks.hpp"
#include "check/optimizer/optimizer_checks.hpp"
#include "check/policy/policy_checks.hpp"
#include "check/schedule/schedule_checks.hpp"
#include "plugin/loader.hpp"

namespace switchyard::checks {

namespace {

/// Of the loaded copy: its optional slots are filled.
template <class Api>
const Api& table_of(const PluginTable& table) {
  return *static_cast<const Api*>(table.table);
}

/// False: it is of a kind that is not checked.
bool check_table(const PluginTable& table, const Request& request, const std::vector<std::string>& folders,
                 Subject& subject, const Listener& listener) {
  const std::string kind = table.kind->kind;
  if (kind == SY_KIND_LAYER)
    check_layer(table_of<sy_layer_api>(table), request, subject, listener);
  else if (kind == SY_KIND_POLICY)
    check_policy(table_of<sy_policy_api>(table), request, folders, subject, listener);
  else if (kind == SY_KIND_SCHEDULE)
    check_schedule(table_of<sy_schedule_api>(table), request, subject, listener);
  else if (kind == SY_KIND_OPTIMIZER)
    check_optimizer(table_of<sy_optimizer_api>(table), request, subject, listener);
  else
    return false;
  return true;
}

}  // namespace

Report check_plugin(const std::string& path, const Request& request, const std::vector<std::string>& folders,
                    const Listener& listener) {
  const LoadedPlugin& plugin = load_plugin(path);
  Report report;
  std::string offered;
  for (const PluginTable& table : plugin.tables) {
    offered += (offered.empty() ? "" : ", ") + std::string(table.kind->word) + " " + table.id;
    if (!request.only.empty() && table.id != request.only) continue;
    Subject subject{table.kind->word, table.id, "", {}};
    if (check_table(table, request, folders, subject, listener)) report.subjects.push_back(std::move(subject));
  }
  if (report.subjects.empty())
    throw Error(SY_E_CONFIG,
                path + ": there is nothing to check; it offers " + (offered.empty() ? "nothing" : offered));
  return report;
}

}  // namespace switchyard::checks
