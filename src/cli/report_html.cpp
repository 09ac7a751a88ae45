#include "cli/report_view.h"

namespace plat::cli {

// report_page.html, as the build has put it into the program.
extern const char kReportPage[];

std::string report_html(const inspect::Json& reports) {
  static constexpr std::string_view kPlace = "/*REPORTS*/[]";
  std::string data;
  for (const char c : inspect::to_line(reports)) {
    // Inside a script only this character could end it, and in JSON it stands in strings alone.
    if (c == '<') {
      data += "\\u003c";
    } else {
      data += c;
    }
  }
  std::string page = kReportPage;
  const size_t place = page.find(kPlace);
  return page.replace(place, kPlace.size(), data);
}

}  // namespace plat::cli
