// The static part of report.html, embedded at build time from reports/assets.
#pragma once
#include <string_view>

namespace attnprof::reports {

std::string_view report_template(); ///< assets/report.html with {{name}} where text goes
std::string_view report_style();    ///< assets/report.css
std::string_view report_script();   ///< assets/*.js, in the order that assets.cmake names
std::string_view plotly_script();   ///< plotly.js, which draws the charts; empty where the build has none

} // namespace attnprof::reports
