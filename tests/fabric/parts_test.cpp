// SPDX-License-Identifier: Apache-2.0
// The daemon's parts that need no second server: the table, certificates, what is asked of a provider.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "fabricd/keys.h"
#include "fabricd/provider.h"
#include "fabricd/table.h"

namespace plat::fabricd {
namespace {

TEST(Table, NamesServers) {
  const auto table =
      parse_table("# servers\n0 10.0.0.1:7100\n\n 12\thost.example:7  # the second\n1 [::1]:65535");
  ASSERT_TRUE(table) << table.error().text;
  EXPECT_EQ(table->size(), 3u);
  EXPECT_EQ(table->at(0).text(), "10.0.0.1:7100");
  EXPECT_EQ(table->at(12).host, "host.example");
  EXPECT_EQ(table->at(1).host, "[::1]");
  EXPECT_EQ(table->at(1).port, 65535u);
}

TEST(Table, RefusesWhatMakesNoSense) {
  for (const char* bad : {"0", "0 host", "0 host:", "0 :7", "x host:7", "0 host:0", "0 host:65536",
                          "1023 host:7", "-1 host:7", "0 host:7 9", "0 a:7\n0 b:7", "0 a:7\n1 a:7"})
    EXPECT_FALSE(parse_table(bad)) << bad;
  EXPECT_FALSE(read_table("/does/not/exist"));
  EXPECT_NE(parse_table("3 a:7\n3 b:7").error().text.find("server 3 stands twice"), std::string::npos);
}

TEST(Table, ReadsAnything) {
  std::minstd_rand random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = "0123 :\n#ab\t\xff"[random() % 13];
    const auto table = parse_table(text);
    if (!table) continue;
    for (const auto& [server, place] : *table) {
      EXPECT_LE(server, kMaxServer);
      EXPECT_TRUE(place.port > 0 && place.port < 65536 && !place.host.empty()) << text;
    }
  }
}

class KeyFiles : public ::testing::Test {
 protected:
  KeyFiles() {
    char name[] = "/tmp/plat-keys-XXXXXX";
    top_ = mkdtemp(name);
  }
  ~KeyFiles() override { std::filesystem::remove_all(top_); }
  std::string directory(const char* name) const { return top_ + "/" + name; }
  static Cause cause(const std::string& directory, uint32_t server) {
    const auto keys = load_keys(directory, server);
    return keys ? Cause::None : keys.error().cause;
  }
  std::string top_;
};

TEST_F(KeyFiles, AreMadeOnceAndLoad) {
  const std::string at = directory("a");
  ASSERT_TRUE(make_keys(at, 3, 10));
  const auto first = load_keys(at, 3);
  ASSERT_TRUE(first) << first.error().text;
  ASSERT_TRUE(make_keys(at, 3, 10));
  EXPECT_EQ(load_keys(at, 3)->key, first->key);
  ASSERT_TRUE(make_keys(at, 4, 10));
  EXPECT_EQ(load_keys(at, 4)->authority, first->authority);
  struct stat info {};
  ASSERT_EQ(stat((at + "/server-3.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(KeyFiles, OthersCanRead) {
  const std::string at = directory("a");
  ASSERT_TRUE(make_keys(at, 0, 10));
  chmod((at + "/server-0.key").c_str(), 0640);
  EXPECT_EQ(cause(at, 0), Cause::KeyPrivate);
  chmod((at + "/server-0.key").c_str(), 0600);
  EXPECT_EQ(cause(at, 0), Cause::None);
  chmod(at.c_str(), 0777);
  EXPECT_EQ(make_keys(at, 1, 10).error().cause, Cause::KeyPrivate);
}

TEST_F(KeyFiles, Expired) {
  const std::string at = directory("a");
  ASSERT_TRUE(make_keys(at, 0, 0));
  EXPECT_EQ(cause(at, 0), Cause::KeyExpired);
  const std::string said = load_keys(at, 0).error().text;
  EXPECT_EQ(said.find(at + "/server-0.crt was good until "), 0u) << said;
}

// As the clock of another machine sees it, or a wrong one.
TEST_F(KeyFiles, OfTomorrow) {
  const std::string at = directory("a"), path = at + "/server-0.crt";
  ASSERT_TRUE(make_keys(at, 0, 10));
  const auto open = [](const std::string& name, const char* how) {
    return std::unique_ptr<FILE, int (*)(FILE*)>(fopen(name.c_str(), how), fclose);
  };
  X509* certificate = PEM_read_X509(open(path, "r").get(), nullptr, nullptr, nullptr);
  EVP_PKEY* authority = PEM_read_PrivateKey(open(at + "/ca.key", "r").get(), nullptr, nullptr, nullptr);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 86400);
  ASSERT_NE(X509_sign(certificate, authority, EVP_sha256()), 0);
  ASSERT_EQ(PEM_write_X509(open(path, "w").get(), certificate), 1);
  X509_free(certificate);
  EVP_PKEY_free(authority);
  EXPECT_EQ(cause(at, 0), Cause::KeyExpired);
  const std::string said = load_keys(at, 0).error().text;
  EXPECT_EQ(said.find(path + " is not good before "), 0u) << said;
}

TEST_F(KeyFiles, OfSomebodyElse) {
  const std::string at = directory("a"), other = directory("b");
  ASSERT_TRUE(make_keys(at, 0, 10));
  ASSERT_TRUE(make_keys(at, 1, 10));
  ASSERT_TRUE(make_keys(other, 0, 10));
  const auto replace = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  };
  EXPECT_EQ(cause(at, 7), Cause::KeyForeign);           // there is none
  replace(at + "/server-1.crt", at + "/server-0.crt");  // of another server
  EXPECT_EQ(cause(at, 0), Cause::KeyForeign);
  replace(other + "/server-0.crt", at + "/server-0.crt");  // of another authority
  replace(other + "/server-0.key", at + "/server-0.key");
  EXPECT_EQ(cause(at, 0), Cause::KeyForeign);
  std::ofstream(at + "/server-1.crt") << "nonsense";
  EXPECT_EQ(cause(at, 1), Cause::KeyForeign);
  // Without the authority's key no certificate is made.
  std::filesystem::remove(other + "/ca.key");
  EXPECT_EQ(make_keys(other, 5, 10).error().cause, Cause::KeyForeign);
}

// Providers with hardware want all of it, tcp nothing.
TEST(Provider, NamesMemoryAsTheProviderWants) {
  const Info info(fi_allocinfo());
  int memory = 0;
  info->domain_attr->mr_mode = 0;
  EXPECT_EQ(base_of(*info, &memory), 0u);
  EXPECT_FALSE(wants_local_registration(*info));
  info->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  EXPECT_EQ(base_of(*info, &memory), reinterpret_cast<uint64_t>(&memory));
  EXPECT_TRUE(wants_local_registration(*info));
}

TEST(Provider, AnOpeningIsWholeAndOfThisVersion) {
  Opening said;
  said.connection = 5;
  Opening heard;
  EXPECT_TRUE(parse_opening(&said, sizeof said, heard));
  EXPECT_EQ(heard.connection, 5u);
  for (size_t size = 0; size < sizeof said; ++size) EXPECT_FALSE(parse_opening(&said, size, heard));
  said.version += 1;
  EXPECT_FALSE(parse_opening(&said, sizeof said, heard));
}

}  // namespace
}  // namespace plat::fabricd
