#include "cli/push/requests/store_url.h"

#include <gtest/gtest.h>

namespace swipr::push {
namespace {

TEST(StoreUrl, HasAnEngineAndAPlace) {
  const auto url = parse_store_url("pyroscope+http://ann:p%40ss@localhost:4040/tenant/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->engine, Engine::kPyroscope);
  EXPECT_FALSE(url->tls);
  EXPECT_EQ(url->user, "ann");
  EXPECT_EQ(url->password, "p@ss");
  EXPECT_EQ(url->path, "/tenant");
  EXPECT_EQ(url->origin(), "http://localhost:4040");
  const auto parca = parse_store_url("parca+https://parca.example.com");
  ASSERT_TRUE(parca);
  EXPECT_EQ(parca->engine, Engine::kParca);
  EXPECT_EQ(parca->origin(), "https://parca.example.com:443");
  EXPECT_EQ(parca->path, "");
  const auto studio = parse_store_url("gprofiler+http://[::1]:81/");
  ASSERT_TRUE(studio);
  EXPECT_EQ(studio->origin(), "http://[::1]:81");
}

TEST(StoreUrl, RefusesWhatIsNone) {
  for (const char* text :
       {"", "http://x", "pyroscope+ftp://x", "pyroscope+http://", "parca+http://x:0",
        "parca+http://x:70000", "parca+http://x:1y", "parca+http://x/?q=1", "parca+http://x/a b",
        "parca+http://a\r\nb/", "parca+http://[::1", "x+http://y", "parca+http://x/#f"}) {
    EXPECT_FALSE(parse_store_url(text)) << text;
  }
}

std::string proxy_of(const char* url, const ProxyVariables& variables) {
  const auto proxy = choose_proxy(*parse_store_url(url), variables);
  if (!proxy) return "refused";
  return proxy->host.empty() ? "none" : proxy->host + ":" + std::to_string(proxy->port);
}

TEST(ChooseProxy, FollowsTheVariables) {
  ProxyVariables variables;
  EXPECT_EQ(proxy_of("parca+http://x", variables), "none");
  variables.all_proxy = "all:1";
  variables.https_proxy = "http://user:word@tls:2/";
  EXPECT_EQ(proxy_of("parca+http://x", variables), "all:1");
  EXPECT_EQ(proxy_of("parca+https://x", variables), "tls:2");
  variables.http_proxy = "socks5://x:1";
  EXPECT_EQ(proxy_of("parca+http://x", variables), "refused");
}

TEST(ChooseProxy, LeavesOutWhatNoProxyNames) {
  ProxyVariables variables;
  variables.http_proxy = "http://p:1";
  variables.no_proxy = "10.0.0.1, .example.com,local";
  for (const char* url : {"parca+http://10.0.0.1", "parca+http://example.com",
                          "parca+http://a.example.com", "parca+http://local:7070"}) {
    EXPECT_EQ(proxy_of(url, variables), "none") << url;
  }
  for (const char* url : {"parca+http://110.0.0.1", "parca+http://badexample.com"}) {
    EXPECT_EQ(proxy_of(url, variables), "p:1") << url;
  }
  variables.no_proxy = "*";
  EXPECT_EQ(proxy_of("parca+http://x", variables), "none");
}

}  // namespace
}  // namespace swipr::push
