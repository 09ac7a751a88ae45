// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/formatter.h"

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

// A finding is shown in a terminal, on a page, in a notebook and by CI: what stands where is another matter
// each time.
TEST(Rules, OfFindingsDoNotSayWhereOnTheScreenSomethingIs) {
  for (const rules::Rule& rule : rules::all()) {
    if (!rule.is_finding()) continue;
    for (const std::string text : {rule.sentence, rule.cause, rule.fix}) {
      EXPECT_EQ(text.find("below"), std::string::npos) << rule.name << ": " << text;
      EXPECT_EQ(text.find("above"), std::string::npos) << rule.name << ": " << text;
    }
  }
}

TEST(Junit, NamesStayTheSameAndNoByteBreaksTheDocument) {
  const std::string text = to_junit({finding_at("/src/a.cpp")}, "./t --x \"1\"");
  EXPECT_NE(text.find("name=\"INSP-Access-freed at /src/a.cpp:7\""), std::string::npos) << text;
  EXPECT_NE(text.find("\xef\xbf\xbd &lt;b&gt; &amp; &quot;x&quot;"), std::string::npos) << text;
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(Junit, NamesTheTestAlsoWhenNothingWasFound) {
  EXPECT_NE(to_junit({finding_at("/src/a.cpp")}, "./t --x \"1\"").find("classname=\"./t --x &quot;1&quot;\""),
            std::string::npos);
  const std::string text = to_junit({}, "./t");
  EXPECT_NE(text.find("<testcase classname=\"./t\" name=\"memory\"/>"), std::string::npos) << text;
}

TEST(Junit, AWarningIsNoFailure) {
  Json warning = finding_at("/src/a.cpp");
  warning["severity"] = "warning";
  const std::string text = to_junit({warning}, "t");
  EXPECT_NE(text.find("tests=\"1\" failures=\"0\""), std::string::npos);
  EXPECT_NE(text.find("<system-out>"), std::string::npos);
}

TEST(Junit, TwoFindingsOfOneLineAreTwoTests) {
  const std::string text = to_junit({finding_at("/src/a.cpp"), finding_at("/src/a.cpp")}, "t");
  EXPECT_NE(text.find("name=\"INSP-Access-freed at /src/a.cpp:7\""), std::string::npos) << text;
  EXPECT_NE(text.find("name=\"INSP-Access-freed at /src/a.cpp:7 (2)\""), std::string::npos) << text;
}

TEST(Sarif, ALeakIsAllocatedWhereItShows) {
  Json leak = finding_at("/src/a.cpp");
  leak["rule"] = "INSP-Leak-device-block";
  leak["objects"].push_back(
      {{"role", "leaked"}, {"kind", "device block"}, {"address", "0x1000"}, {"allocated", leak["site"]}});
  const Json sarif = Json::parse(to_sarif({leak}, "1"));
  const Json& flow = sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"];
  ASSERT_EQ(flow.size(), 1u);
  EXPECT_EQ(flow[0]["location"]["message"]["text"], "device block allocated by aclrtMemcpy");
}

TEST(Sarif, SaysHowItCameToThat) {
  Json finding = finding_at("/src/a.cpp");
  finding["site"]["event"] = 9;
  Json before = finding_at("/src/b.cpp")["site"];
  before["event"] = 3;
  before["call"] = "aclrtMalloc";
  finding["objects"].push_back(
      {{"role", "freed"}, {"kind", "device block"}, {"address", "0x1000"}, {"allocated", before}});
  const Json run = Json::parse(to_sarif({finding}, "1.2.3"))["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["version"], "1.2.3");
  const Json& flow = run["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"];
  ASSERT_EQ(flow.size(), 2u);
  EXPECT_EQ(flow[0]["location"]["message"]["text"], "device block allocated by aclrtMalloc");
  EXPECT_EQ(flow[0]["location"]["physicalLocation"]["artifactLocation"]["uri"], "/src/b.cpp");
  EXPECT_EQ(flow[1]["location"]["message"]["text"], "found by aclrtMemcpy");
}

TEST(Sarif, FilesOfTheRepositoryAreRelativeToIt) {
  const std::string here = std::filesystem::current_path().string();
  const auto uri_of = [](const std::string& file) {
    const Json sarif = Json::parse(to_sarif({finding_at(file)}, "1"));
    return sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        .get<std::string>();
  };
  EXPECT_EQ(uri_of(here + "/src/a b.cpp"), "src/a%20b.cpp");
  EXPECT_EQ(uri_of("/usr/include/x#y.h"), "/usr/include/x%23y.h");
}

}  // namespace
}  // namespace plat::inspect
