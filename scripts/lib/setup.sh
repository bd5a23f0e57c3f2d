# shellcheck shell=bash
# Sourced by scripts/attnprof, scripts/test and scripts/bench: installs what is missing, configures and builds.
# Everything here prints to stderr, since stdout belongs to the program that runs afterwards.
# A step that fails ends the script: exit 2 when the user has to install something, exit 1 when the build fails.

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

say() { printf 'attnprof: %s\n' "$*" >&2; }

stop() {
  local exit_code=$1
  shift
  say "$@"
  exit "$exit_code"
}

# What the build needs, one a line:
#   use | name | found by | apt | dnf | pacman | zypper | what for
# use: tool = always, tests = only where tests are built, optional = built without it if it cannot be had, bench = the
# same for the benchmark, test-extra = some tests are skipped without it.
# found by: any one of these commands or headers. Headers, because a copy installed by hand must do as well.
dependencies() {
  cat <<'TABLE'
tool|C++20 compiler|command:${CXX:-c++}|g++|gcc-c++|gcc|gcc-c++|compiles attnprof
tool|CMake 3.22 or newer|command:cmake|cmake|cmake|cmake|cmake|configures the build
tool|Ninja or make|command:ninja command:make|ninja-build|ninja-build|ninja|ninja|runs the build
tool|CLI11|header:CLI/CLI.hpp|libcli11-dev|cli11-devel|cli11|cli11-devel|command line
tool|fmt|header:fmt/core.h|libfmt-dev|fmt-devel|fmt|fmt-devel|text formatting
tool|Eigen 3|header:eigen3/Eigen/Core header:Eigen/Core|libeigen3-dev|eigen3-devel|eigen|eigen3-devel|dense algebra
tool|nlohmann-json|header:nlohmann/json.hpp|nlohmann-json3-dev|json-devel|nlohmann-json|nlohmann_json-devel|JSON records
tool|oneDNN|header:oneapi/dnnl/dnnl.hpp|libdnnl-dev|onednn-devel|onednn|onednn-devel|matrix products and convolutions
optional|libpfm4|header:perfmon/pfmlib.h|libpfm4-dev|libpfm-devel|libpfm|libpfm-devel|names of hardware counters
optional|SQLite|header:sqlite3.h|libsqlite3-dev|sqlite-devel|sqlite|sqlite3-devel|history of many runs
optional|simdjson|header:simdjson.h|libsimdjson-dev|simdjson-devel|simdjson|simdjson-devel|reading of thousands of records
bench|OpenBLAS|header:cblas.h header:openblas/cblas.h header:openblas-pthread/cblas.h|libopenblas-dev|openblas-devel|openblas|openblas-devel|matrix products to compare with
test-extra|Chromium|command:chromium command:chromium-browser command:google-chrome|chromium|chromium|chromium|chromium|tests of report.html in a browser
tests|Catch2|header:catch2/catch.hpp header:catch2/catch_all.hpp|catch2|catch-devel|catch2|Catch2-devel|tests
TABLE
}

# Prints the folders in which headers are looked for. ATTNPROF_INCLUDE_DIRS replaces them (the tests of this file use it).
include_folders() {
  if [[ -n ${ATTNPROF_INCLUDE_DIRS+set} ]]; then
    tr ':' '\n' <<<"$ATTNPROF_INCLUDE_DIRS"
    return
  fi
  local prefix
  tr ':' '\n' <<<"${CPATH-}:${CPLUS_INCLUDE_PATH-}"
  tr ';' ':' <<<"${CMAKE_PREFIX_PATH-}" | tr ':' '\n' | while IFS= read -r prefix; do
    [[ -z $prefix ]] || printf '%s\n' "$prefix/include"
  done
  printf '%s\n' /usr/local/include /usr/include /usr/include/*-linux-gnu*
}

# is_present "PROBE..." "FOLDERS": true when any probe succeeds.
is_present() {
  local probe folder
  for probe in $1; do
    case $probe in
      command:*)
        probe=${probe#command:}
        [[ $probe != "\${CXX:-c++}" ]] || probe=${CXX:-c++}
        ! command -v "${probe%% *}" >/dev/null 2>&1 || return 0
        ;;
      header:*)
        while IFS= read -r folder; do
          [[ -z $folder || ! -e $folder/${probe#header:} ]] || return 0
        done <<<"$2"
        ;;
    esac
  done
  return 1
}

# missing_dependencies USE...: the lines of the table that are not on this machine.
missing_dependencies() {
  local line use probes folders
  folders=$(include_folders)
  while IFS= read -r line; do
    IFS='|' read -r use _ probes _ <<<"$line"
    [[ " $* " == *" $use "* ]] || continue
    is_present "$probes" "$folders" || printf '%s\n' "$line"
  done < <(dependencies)
}

# column N: that column of the table lines on stdin, one a line.
column() { cut -d '|' -f "$1"; }

# Sets manager, and package_column: where the table has that manager's package names.
find_package_manager() {
  local entry
  for entry in apt-get:4 dnf:5 pacman:6 zypper:7; do
    manager=${entry%:*} package_column=${entry#*:}
    ! command -v "$manager" >/dev/null 2>&1 || return 0
  done
  manager='' package_column=2
}

# install_command PACKAGE...: sets install to the command line that installs them without a question.
install_command() {
  case $manager in
    apt-get)
      install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
      ;;
    dnf) install=(dnf install -y) ;;
    pacman) install=(pacman -S --needed --noconfirm) ;;
    zypper) install=(zypper --non-interactive install) ;;
  esac
  install+=("$@")
}

# as_root COMMAND...: runs it as root, its output in the log; never reads this script's stdin.
as_root() {
  printf '+ %s\n' "${privilege[*]} $*" >>"$log"
  "${privilege[@]}" "$@" >>"$log" 2>&1 </dev/null
}

# Sets privilege to what must stand before a command to run it as root. False when root cannot be had.
find_privilege() {
  privilege=()
  [[ $(id -u) != 0 ]] || return 0
  command -v sudo >/dev/null 2>&1 || return 1
  privilege=(sudo)
  # Without a terminal sudo could not ask for the password.
  [[ -t 2 ]] || privilege+=(-n)
}

# Runs the package manager. apt's package lists are fetched only when it does not know a package or fails to get it.
run_install() {
  install_command "$@"
  if [[ $manager == apt-get ]]; then
    if apt-cache show "$@" >/dev/null 2>&1 && as_root "${install[@]}"; then
      return 0
    fi
    as_root apt-get update -o Acquire::Retries=3 || say "apt-get update failed; going on with the package lists at hand"
  fi
  as_root "${install[@]}"
}

describe_packages() { # "- package: what for" for each table line on stdin
  local line
  while IFS= read -r line; do
    say "  - $(column "$package_column" <<<"$line"): $(column 8 <<<"$line")"
  done
}

# Lists what is missing on a system whose package manager is not known, and stops.
stop_unknown_system() {
  say "no package manager known to this script (apt-get, dnf, pacman, zypper). Install these, then run it again:"
  describe_packages <<<"$1"
  exit 2
}

# install_dependencies USE...: installs the missing ones of those uses.
install_dependencies() {
  local missing packages
  missing=$(missing_dependencies "$@")
  [[ -n $missing ]] || return 0
  find_package_manager
  [[ -n $manager ]] || stop_unknown_system "$missing"
  mapfile -t packages < <(column "$package_column" <<<"$missing")
  install_command "${packages[@]}"
  if ! find_privilege; then
    say "these packages are missing, and installing them needs root:"
    describe_packages <<<"$missing"
    stop 2 "run this as root, then try again: ${install[*]}"
  fi
  say "installing with $manager${privilege[*]:+ (${privilege[0]})}:"
  describe_packages <<<"$missing"
  log=$build_dir/install.log
  : >"$log"
  run_install "${packages[@]}" || stop_failed 2 "the packages could not be installed. By hand, as root: ${install[*]}"
}

# install_optional USE...: tried one by one, so that a name that this system does not have stops nothing.
install_optional() {
  local line
  while IFS= read -r line; do
    [[ -n $line ]] || continue
    find_package_manager
    if [[ -n $manager ]] && find_privilege; then
      log=$build_dir/install-optional.log
      say "installing with $manager: $(column "$package_column" <<<"$line") ($(column 8 <<<"$line"))"
      ! run_install "$(column "$package_column" <<<"$line")" || continue
    fi
    say "going on without $(column 2 <<<"$line") ($(column 8 <<<"$line"))"
  done < <(missing_dependencies "$@")
}

# stop_failed EXIT_CODE MESSAGE: the end of the log, then the message, then where the whole log is.
stop_failed() {
  tail -n 60 "$log" >&2
  say "$2"
  stop "$1" "full log: $log"
}

check_tool_versions() {
  local version compiler
  read -ra compiler <<<"${CXX:-c++}" # CXX may hold a launcher or flags
  version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  [[ $(printf '%s\n' 3.22 "$version" | sort -V | head -n 1) == 3.22 ]] ||
    stop 2 "cmake $version is too old: 3.22 or newer is needed"
  "${compiler[@]}" -std=c++20 -x c++ -fsyntax-only - <<<'#include <compare>
    #include <concepts>
    #include <span>' >/dev/null 2>&1 ||
    stop 2 "${compiler[*]} does not compile C++20: install g++ 11 or clang 14 or newer, or name one with CXX=..."
}

# Sets build_dir. ATTNPROF_BUILD_DIR takes the place of SOURCE/build; a checkout that cannot be written to is built in
# the user's cache.
find_build_dir() {
  local root=${ATTNPROF_BUILD_DIR:-$source_dir/build}
  [[ $root == /* ]] || root=$PWD/$root
  build_dir=$root/$1
  if ! { mkdir -p "$build_dir" && [[ -w $build_dir ]]; } 2>/dev/null; then
    [[ -z ${ATTNPROF_BUILD_DIR-} && -n ${XDG_CACHE_HOME:-${HOME-}} ]] ||
      stop 2 "cannot write to the build folder $build_dir: name another one with ATTNPROF_BUILD_DIR=FOLDER"
    build_dir=${XDG_CACHE_HOME:-$HOME/.cache}/attnprof/$(cksum <<<"$source_dir" | cut -d ' ' -f 1)/$1
    mkdir -p "$build_dir" || stop 2 "cannot create the build folder $build_dir: name another one with ATTNPROF_BUILD_DIR=FOLDER"
  fi
}

# Compilers at work at once: one a core, and no more than fit in memory at 1.5 GiB each.
build_jobs() {
  local cores available_kib jobs
  cores=$(nproc 2>/dev/null || echo 1)
  available_kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo 2>/dev/null)
  jobs=$((${available_kib:-1572864} / 1572864))
  ((jobs < cores)) || jobs=$cores
  ((jobs > 0)) || jobs=1
  printf '%s\n' "${CMAKE_BUILD_PARALLEL_LEVEL:-$jobs}"
}

# What the configuration depends on. A change inside the CMake files is the build's own business: it runs CMake again by
# itself. The list of dependencies is not: a new one may have to be installed first.
configuration_key() {
  printf '%s\n' "$source_dir" "$build_dir" "${CMAKE_GENERATOR-}" "${CXX-}" "$(command -v npm)"
  cat "$source_dir/CMakePresets.json" "$source_dir/cmake/AttnprofDependencies.cmake" \
    "$source_dir/cmake/AttnprofPlotly.cmake" "${BASH_SOURCE[0]}" | cksum
}

# configure PRESET: installs what is missing and runs CMake, unless the folder holds a finished configuration.
configure() {
  local stamp=$build_dir/.configured key generator='Unix Makefiles'
  key=$(configuration_key)
  [[ ! -f $stamp || $(<"$stamp") != "$key" ]] || return 0

  case $1 in
    release)
      install_dependencies tool
      install_optional optional
      ;;
    bench)
      install_dependencies tool
      install_optional optional bench
      ;;
    *)
      install_dependencies tool tests
      install_optional optional test-extra
      ;;
  esac
  check_tool_versions
  # What an earlier configuration of another place or generator left would be refused by CMake.
  rm -rf "$stamp" "$build_dir/CMakeCache.txt" "$build_dir/CMakeFiles"
  ! command -v ninja >/dev/null 2>&1 || generator=Ninja
  say "configuring the $1 build in $build_dir; the first build takes a few minutes"
  log=$build_dir/configure.log
  cmake --preset "$1" -S "$source_dir" -B "$build_dir" -G "${CMAKE_GENERATOR:-$generator}" >"$log" 2>&1 ||
    stop_failed 1 "CMake could not configure the build"
  printf '%s\n' "$key" >"$stamp"
}

# Passes the build's output on to the log and shows how far it is: one line that is rewritten on a terminal, else a line
# every 20 %. Ninja counts "[3/57]", make "[ 5%]".
show_progress() {
  local line percent shown=0 clear=''
  while IFS= read -r line; do
    printf '%s\n' "$line" >&3
    [[ $line =~ ^\[\ *([0-9]+)(/([0-9]+)|%)\]\ (.*) && ${BASH_REMATCH[4]} != Re-* ]] || continue
    percent=$((BASH_REMATCH[1] * 100 / ${BASH_REMATCH[3]:-100}))
    if [[ -t 2 ]]; then
      printf '\rattnprof: building %3d %%' "$percent" >&2
      clear='\r\033[K'
    elif ((percent >= shown + 20)); then
      shown=$((percent - percent % 20))
      say "building $shown %"
    fi
  done
  # shellcheck disable=SC2059
  printf "$clear" >&2
}

build() {
  log=$build_dir/build.log
  cmake --build "$build_dir" --parallel "$(build_jobs)" "$@" 2>&1 </dev/null | show_progress 3>"$log" ||
    stop_failed 1 "the build failed"
}

# prepare PRESET [--target NAME]: sets build_dir and leaves an up-to-date build there. Calls that run at the same time
# (shards of a sweep) wait for each other; the lock ends with the subshell, before the tool starts.
prepare() {
  local preset=$1
  shift
  find_build_dir "$preset"
  (
    ! command -v flock >/dev/null 2>&1 || flock 9
    configure "$preset"
    build "$@"
  ) 9>"$build_dir/.lock"
}
