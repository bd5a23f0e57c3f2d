#include "cli/commands/commands.hpp"

namespace attnprof::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> kAll = {
      list_command(),    cost_command(),    run_command(),        sweep_command(), compare_command(),
      report_command(),  machine_command(), verify_command(),     merge_command(), doctor_command(),
      history_command(), explain_command(), completion_command(), manual_command()};
  return kAll;
}

} // namespace attnprof::cli
