#pragma once
#include "cli/command.hpp"

namespace attnprof::cli {

// One file each in this folder; cli/commands.cpp lists them.
Command cost_command();
Command run_command();
Command sweep_command();
Command compare_command();
Command report_command();
Command list_command();
Command machine_command();
Command verify_command();
Command merge_command();
Command doctor_command();
Command history_command();
Command explain_command();
Command completion_command();
Command manual_command();

} // namespace attnprof::cli
