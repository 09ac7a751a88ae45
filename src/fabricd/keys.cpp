// SPDX-License-Identifier: Apache-2.0
#include "fabricd/keys.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "os/file.h"
#include "os/process.h"

namespace plat::fabricd {

namespace {

constexpr uint32_t kAuthorityDays = 3650;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Bio = std::unique_ptr<BIO, Free>;

std::string crypto_error(const char* what) { return fmt::format("{}: OpenSSL refused", what); }

std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Certificate parse_certificate(const std::string& text) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}
Key parse_key(const std::string& text) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

// Written beside its place and moved there, so that nobody reads half of it.
Outcome<> write_file(const std::string& path, const std::string& text) {
  const std::string fresh = fmt::format("{}.{}", path, getpid());
  const os::Fd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      rename(fresh.c_str(), path.c_str()) != 0)
    return trouble(Cause::Untrusted, "{} cannot be written: {}", path, std::strerror(errno));
  return {};
}

void add_extension(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  if (X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str())) {
    X509_add_ext(certificate, made, -1);
    X509_EXTENSION_free(made);
  }
}

struct Pair {
  Key key;
  Certificate certificate;
};

// Signed by `issuer`, or by itself.
Outcome<Pair> make_pair(const std::string& name, const Pair* issuer, uint32_t days) {
  Pair made{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  X509* certificate = made.certificate.get();
  if (!made.key || certificate == nullptr) return trouble(Cause::Full, "{}", crypto_error("making a key"));
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), os::random_number() >> 1);
  constexpr long kDay = 86400;
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);  // clocks differ
  X509_gmtime_adj(X509_getm_notAfter(certificate), static_cast<long>(days) * kDay);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* signer = issuer != nullptr ? issuer->certificate.get() : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  add_extension(certificate, signer, NID_basic_constraints,
                issuer != nullptr ? "critical,CA:FALSE" : "critical,CA:TRUE");
  if (issuer != nullptr) {
    add_extension(certificate, signer, NID_subject_alt_name, "DNS:" + name);
    add_extension(certificate, signer, NID_ext_key_usage, "serverAuth,clientAuth");
  }
  EVP_PKEY* with = issuer != nullptr ? issuer->key.get() : made.key.get();
  if (X509_sign(certificate, with, EVP_sha256()) == 0)
    return trouble(Cause::Full, "{}", crypto_error("signing"));
  return made;
}

// The key first: a certificate without its key is found out, and made again by nobody.
Outcome<> write_pair(const std::string& stem, const Pair& pair) {
  const Bio key(BIO_new(BIO_s_mem()));
  const Bio certificate(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  PEM_write_bio_X509(certificate.get(), pair.certificate.get());
  if (auto written = write_file(stem + ".key", text_of(key)); !written) return written;
  return write_file(stem + ".crt", text_of(certificate));
}

std::string stem_of(const std::string& directory, uint32_t server) {
  return fmt::format("{}/server-{}", directory, server);
}

Outcome<> check_private(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0)
    return trouble(Cause::KeyForeign, "{}: {}", path, std::strerror(errno));
  if (info.st_uid != geteuid() || (info.st_mode & 077) != 0)
    return trouble(Cause::KeyPrivate,
                   "{} belongs to user {} and has mode {:o}; it must be this user's with "
                   "mode 600",
                   path, info.st_uid, info.st_mode & 0777);
  return {};
}

std::string time_text(const ASN1_TIME* time) {
  const Bio text(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(text.get(), time);
  return text_of(text);
}

Outcome<> check_time(const std::string& path, const Certificate& certificate) {
  const ASN1_TIME* begin = X509_get0_notBefore(certificate.get());
  const ASN1_TIME* end = X509_get0_notAfter(certificate.get());
  if (X509_cmp_current_time(end) <= 0)
    return trouble(Cause::KeyExpired, "{} was good until {}", path, time_text(end));
  if (X509_cmp_current_time(begin) > 0)
    return trouble(Cause::KeyExpired, "{} is not good before {}", path, time_text(begin));
  return {};
}

Outcome<> make_missing(const std::string& directory, uint32_t server, uint32_t days) {
  const std::string authority = directory + "/ca";
  if (!os::read_small_file(authority + ".crt")) {
    auto made = make_pair("plat fabric", nullptr, kAuthorityDays);
    if (!made) return pass_on(made.error());
    if (auto written = write_pair(authority, *made); !written) return written;
  }
  const std::string stem = stem_of(directory, server);
  if (os::read_small_file(stem + ".crt")) return {};
  const auto key = os::read_small_file(authority + ".key");
  if (!key)
    return trouble(Cause::KeyForeign, "{} has no certificate of server {} and no ca.key to make one",
                   directory, server);
  const Pair issuer{parse_key(*key), parse_certificate(*os::read_small_file(authority + ".crt"))};
  if (!issuer.key || !issuer.certificate)
    return trouble(Cause::KeyForeign, "{}/ca.key cannot be read as a key", directory);
  auto made = make_pair(name_of_server(server), &issuer, days);
  if (!made) return pass_on(made.error());
  return write_pair(stem, *made);
}

}  // namespace

std::string name_of_server(uint32_t server) { return fmt::format("server-{}.plat", server); }

Outcome<> make_keys(const std::string& directory, uint32_t server, uint32_t days) {
  if (const int error = os::make_private_directory(directory); error != 0)
    return trouble(
        Cause::KeyPrivate, "directory {}: {}", directory,
        error == EPERM ? "it belongs to another user, or others can write to it" : std::strerror(error));
  // Two daemons of one user may start at the same moment.
  const os::Fd turn = os::open_private_file(directory + "/lock", true);
  while (turn && os::try_lock_byte(turn.get(), 0) == EAGAIN) os::sleep_microseconds(1000);
  return make_missing(directory, server, days);
}

Outcome<Keys> load_keys(const std::string& directory, uint32_t server) {
  const std::string stem = stem_of(directory, server);
  if (auto kept = check_private(stem + ".key"); !kept) return pass_on(kept.error());
  const auto authority = os::read_small_file(directory + "/ca.crt");
  const auto certificate = os::read_small_file(stem + ".crt");
  const auto key = os::read_small_file(stem + ".key");
  if (!authority || !certificate || !key)
    return trouble(Cause::KeyForeign, "{} needs ca.crt, server-{}.crt and server-{}.key", directory, server,
                   server);
  const Certificate ca = parse_certificate(*authority);
  const Certificate own = parse_certificate(*certificate);
  const Key secret = parse_key(*key);
  if (!ca || !own || !secret)
    return trouble(Cause::KeyForeign, "{}.crt, .key or ca.crt cannot be read", stem);
  if (auto good = check_time(directory + "/ca.crt", ca); !good) return pass_on(good.error());
  if (auto good = check_time(stem + ".crt", own); !good) return pass_on(good.error());
  const Key issuer(X509_get_pubkey(ca.get()));
  if (X509_verify(own.get(), issuer.get()) != 1 || X509_check_private_key(own.get(), secret.get()) != 1 ||
      X509_check_host(own.get(), name_of_server(server).c_str(), 0, 0, nullptr) != 1)
    return trouble(Cause::KeyForeign, "{}.crt is not of this authority, this key and server {}", stem,
                   server);
  return Keys{*authority, *certificate, *key};
}

bool same_secret(const std::array<uint8_t, 32>& a, const std::array<uint8_t, 32>& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace plat::fabricd
