#include "inspect/check/told.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace plat::inspect {
namespace {

Json finding_at(const std::string& file) {
  const Json frame{{"text", "f at " + file}, {"function", "f"}, {"file", file}, {"line", 7}};
  const Json site{{"event", 1}, {"time_ns", 5}, {"thread", 2}, {"call", "aclrtMemcpy"}, {"stack", {frame}}};
  return {{"rule", "INSP-Access-freed"},
          {"severity", "error"},
          {"detail", "\xff <b> & \"x\""},
          {"sentence", "Do."},
          {"cause", "c"},
          {"hint", "Or not."},
          {"count", 1},
          {"site", site},
          {"objects", Json::array()}};
}

TEST(Junit, NamesStayTheSameAndNoByteBreaksTheDocument) {
  const std::string text = to_junit({finding_at("/src/a.cpp")});
  EXPECT_NE(text.find("name=\"INSP-Access-freed at /src/a.cpp:7\""), std::string::npos) << text;
  EXPECT_NE(text.find("\xef\xbf\xbd &lt;b&gt; &amp; &quot;x&quot;"), std::string::npos) << text;
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(Junit, AWarningIsNoFailure) {
  Json warning = finding_at("/src/a.cpp");
  warning["severity"] = "warning";
  const std::string text = to_junit({warning});
  EXPECT_NE(text.find("tests=\"1\" failures=\"0\""), std::string::npos);
  EXPECT_NE(text.find("<system-out>"), std::string::npos);
}

TEST(Sarif, FilesOfTheRepositoryAreRelativeToIt) {
  const std::string here = std::filesystem::current_path().string();
  const auto uri_of = [](const std::string& file) {
    const Json sarif = Json::parse(to_sarif({finding_at(file)}));
    return sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        .get<std::string>();
  };
  EXPECT_EQ(uri_of(here + "/src/a b.cpp"), "src/a%20b.cpp");
  EXPECT_EQ(uri_of("/usr/include/x#y.h"), "/usr/include/x%23y.h");
}

}  // namespace
}  // namespace plat::inspect
