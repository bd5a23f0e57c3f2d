#include "cli/history_file.hpp"

#include "operators/core/error.hpp"

#include <fmt/format.h>

#ifdef ATTNPROF_WITH_SQLITE

#include <sqlite3.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using reports::PastRun;

constexpr int kLayout = 1; ///< grows when older programs could not read the file
/// "attn" as the application id in the file's head, so that no other database is taken for a history.
constexpr int kApplication = 0x6174746e;

constexpr const char* kTables = R"sql(
CREATE TABLE runs(
  number INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  added_on TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  label TEXT NOT NULL,
  machine TEXT NOT NULL,
  processor TEXT NOT NULL);
CREATE TABLE cases(
  run INTEGER NOT NULL REFERENCES runs(number),
  position INTEGER NOT NULL,
  id TEXT NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY(run, position));
)sql";

/// The same on every machine, which std::hash is not (FNV-1a).
std::string digest_of(const PastRun& run) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const profilers::Record& record : run.records) {
    for (const char c : reports::record_line(record)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  return fmt::format("{:016x}", hash);
}

class Statement {
 public:
  Statement(sqlite3* base, const char* sql) : base_(base) {
    if (sqlite3_prepare_v2(base, sql, -1, &statement_, nullptr) != SQLITE_OK) {
      throw Error(ErrorKind::kIo, fmt::format("the history cannot be read: {}", sqlite3_errmsg(base)));
    }
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  void bind(int place, const std::string& text) {
    sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int place, std::int64_t value) { sqlite3_bind_int64(statement_, place, value); }
  /// True while there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      throw Error(ErrorKind::kIo, fmt::format("the history cannot be used: {}", sqlite3_errmsg(base_)));
    }
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }
  [[nodiscard]] std::string text(int column) const {
    const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return begin == nullptr ? std::string()
                            : std::string(begin, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  [[nodiscard]] std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3* base_;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteHistory final : public HistoryFile {
 public:
  SqliteHistory(const std::filesystem::path& path, bool create) : path_(path.string()) {
    const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path_.c_str(), &base_, flags, nullptr) != SQLITE_OK) {
      const std::string why = base_ == nullptr ? "no memory" : sqlite3_errmsg(base_);
      sqlite3_close(base_);
      throw Error(ErrorKind::kIo, fmt::format("the history {} cannot be opened: {}{}", path_, why,
                                              create ? "" : "; history add makes one"));
    }
    try {
      sqlite3_busy_timeout(base_, 10'000); // several jobs may add to one file
      check_layout();
    } catch (...) {
      sqlite3_close(base_);
      throw;
    }
  }
  ~SqliteHistory() override { sqlite3_close(base_); }
  SqliteHistory(const SqliteHistory&) = delete;
  SqliteHistory& operator=(const SqliteHistory&) = delete;

  std::int64_t add(const PastRun& run) override {
    execute("BEGIN IMMEDIATE");
    try {
      const std::int64_t number = insert(run);
      execute("COMMIT");
      return number;
    } catch (...) {
      sqlite3_exec(base_, "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
  }

  std::vector<PastRun> runs() override {
    std::vector<PastRun> out;
    Statement runs(base_, "SELECT number, added_on, commit_id, label, machine, processor FROM runs ORDER BY number");
    while (runs.step()) {
      PastRun run{runs.whole(0), runs.text(1), runs.text(2), runs.text(3), runs.text(4), runs.text(5), {}};
      Statement cases(base_, "SELECT record FROM cases WHERE run = ? ORDER BY position");
      cases.bind(1, run.number);
      while (cases.step()) {
        const std::string what = fmt::format("run {} of {}", run.number, path_);
        run.records.push_back(reports::record_from_json(reports::parse_json(cases.text(0), what)));
      }
      out.push_back(std::move(run));
    }
    return out;
  }

 private:
  void execute(const char* sql) {
    if (sqlite3_exec(base_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw Error(ErrorKind::kIo, fmt::format("the history {} cannot be written: {}", path_, sqlite3_errmsg(base_)));
    }
  }

  std::int64_t pragma(const char* sql) {
    Statement statement(base_, sql);
    return statement.step() ? statement.whole(0) : 0;
  }

  void check_layout() {
    std::int64_t application = 0;
    std::int64_t tables = 0;
    try {
      application = pragma("PRAGMA application_id");
      tables = pragma("SELECT count(*) FROM sqlite_master");
    } catch (const Error& error) {
      throw Error(ErrorKind::kUsage, fmt::format("{} is no history of attnprof: {}", path_, error.what()));
    }
    if (application == 0 && tables == 0) {
      execute(fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", kTables,
                          kApplication, kLayout)
                  .c_str());
      return;
    }
    if (application != kApplication) {
      throw Error(ErrorKind::kUsage, fmt::format("{} is a database of another program: name a new file", path_));
    }
    if (const std::int64_t layout = pragma("PRAGMA user_version"); layout != kLayout) {
      throw Error(ErrorKind::kUsage, fmt::format("{} has layout {}, and this program reads {}: use the program that "
                                                 "wrote it, or a new file",
                                                 path_, layout, kLayout));
    }
  }

  std::int64_t insert(const PastRun& run) {
    Statement known(base_, "SELECT 1 FROM runs WHERE digest = ?");
    const std::string digest = digest_of(run);
    known.bind(1, digest);
    if (known.step()) {
      return 0;
    }
    Statement one(base_, "INSERT INTO runs(digest, added_on, commit_id, label, machine, processor) "
                         "VALUES(?, coalesce(nullif(?, ''), strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), ?, ?, ?, ?)");
    int place = 0;
    for (const std::string* text : {&digest, &run.added_on, &run.commit, &run.label, &run.machine, &run.processor}) {
      one.bind(++place, *text);
    }
    one.step();
    const std::int64_t number = sqlite3_last_insert_rowid(base_);
    Statement row(base_, "INSERT INTO cases(run, position, id, record) VALUES(?, ?, ?, ?)");
    for (std::size_t i = 0; i < run.records.size(); ++i) {
      row.bind(1, number);
      row.bind(2, static_cast<std::int64_t>(i));
      row.bind(3, run.records[i].id);
      row.bind(4, reports::json_text(reports::record_to_json(run.records[i], false)));
      row.step();
      row.reset();
    }
    return number;
  }

  std::string path_;
  sqlite3* base_ = nullptr;
};

} // namespace

bool has_history() {
  return true;
}

std::unique_ptr<HistoryFile> open_history(const std::filesystem::path& path, bool create) {
  return std::make_unique<SqliteHistory>(path, create);
}

} // namespace attnprof::cli

#else

namespace attnprof::cli {

bool has_history() {
  return false;
}

std::unique_ptr<HistoryFile> open_history(const std::filesystem::path& path, bool /*create*/) {
  throw operators::Error(operators::ErrorKind::kUnavailable,
                         fmt::format("the history {} cannot be used: this build has no SQLite; install libsqlite3-dev "
                                     "(Debian, Ubuntu) or sqlite-devel (Fedora) and build again",
                                     path.string()));
}

} // namespace attnprof::cli

#endif
