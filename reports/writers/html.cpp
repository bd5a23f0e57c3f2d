#include "reports/writers/html.hpp"

#include "operators/core/error.hpp"
#include "reports/assets.hpp"
#include "reports/concurrent.hpp"
#include "reports/findings.hpp"
#include "reports/format.hpp"
#include "reports/host_text.hpp"
#include "reports/verdict.hpp"
#include "reports/writers/html_payload.hpp"

#include <fmt/format.h>
#include <map>

namespace attnprof::reports {
namespace {

/// Replaces each {{name}} in one pass, so that text put in is never looked at again.
std::string fill(std::string_view form, const std::map<std::string, std::string, std::less<>>& texts) {
  std::string out;
  while (!form.empty()) {
    const std::size_t open = form.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : form.find("}}", open);
    if (close == std::string_view::npos) {
      break;
    }
    const std::string_view name = form.substr(open + 2, close - open - 2);
    const auto text = texts.find(name);
    if (text == texts.end()) {
      throw operators::Error(operators::ErrorKind::kInternal,
                             fmt::format("the report page has no text for '{}'", name));
    }
    out.append(form.substr(0, open)).append(text->second);
    form.remove_prefix(close + 2);
  }
  return out.append(form);
}

std::string details(const ResultSet& results) {
  if (!results.machine) {
    return {};
  }
  std::string out = "<details><summary>Ceilings and environment</summary><ul>";
  for (const std::string& line : ceiling_lines(results)) {
    out += fmt::format("<li>{}</li>", escape_markup(line));
  }
  out += "</ul><dl class=\"facts\">";
  for (const auto& [name, text] : host_facts(*results.machine)) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>", escape_markup(name), escape_markup(text));
  }
  return out + "</dl></details>";
}

/// What the page says of all cases together.
struct Words {
  std::string verdict;
  std::string findings;
};

std::string findings_list(const ResultSet& results) {
  std::string out;
  for (const auto& [heading, sentence] : findings(results.records)) {
    out += fmt::format("<li><b>{}</b>{}</li>", escape_markup(heading), escape_markup(sentence));
  }
  return out.empty() ? out : "<ul class=\"findings\">" + out + "</ul>";
}

/// Its own element, before the page's script; its text holds no end of a script element (the build checks it).
std::string plotly_element() {
  return plotly_script().empty() ? std::string() : fmt::format("<script>{}</script>\n", plotly_script());
}

} // namespace

std::string report_html(const ResultSet& results, const Json& history) {
  std::future<Words> words = begin_beside(usable_threads(), [&results] {
    return Words{escape_markup(verdict_sentence(results.records)), findings_list(results)};
  });
  const Payload payload = html_payload(results, {}, history);
  const std::string trimmed =
      payload.trimmed.empty() ? "" : fmt::format("<p class=\"note\">{}</p>", escape_markup(payload.trimmed));
  const auto [verdict, findings] = words.get();
  return fill(report_template(), {{"title", fmt::format("attnprof: {} {}", results.records.size(),
                                                        results.records.size() == 1 ? "case" : "cases")},
                                  {"css", std::string(report_style())},
                                  {"js", std::string(report_script())},
                                  {"plotly", plotly_element()},
                                  {"verdict", verdict},
                                  {"host", escape_markup(host_line(results))},
                                  {"findings", findings},
                                  {"facts", details(results)},
                                  {"trimmed", trimmed},
                                  {"json", script_safe_json(payload.json)}});
}

} // namespace attnprof::reports
