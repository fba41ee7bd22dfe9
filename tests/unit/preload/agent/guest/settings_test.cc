#include "preload/agent/guest/settings.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace swipr::agent {
namespace {

class AgentSettings : public testing::Test {
 protected:
  Settings parse(std::vector<const char*> environment) {
    environment.push_back(nullptr);
    return parse_settings(environment.data(), arena_);
  }
  static bool asleep(const Settings& settings, std::initializer_list<std::string_view> names) {
    return is_asleep(settings, {names.begin(), names.size()});
  }

  std::vector<char> arena_ = std::vector<char>(kSettingsArenaBytes);
};

TEST_F(AgentSettings, AreEmptyWithoutVariables) {
  const Settings settings = parse({});
  EXPECT_FALSE(settings.disabled);
  EXPECT_TRUE(settings.server_url.empty());
  EXPECT_FALSE(asleep(settings, {"app"}));
  EXPECT_FALSE(parse_settings(nullptr, arena_).disabled);
}

TEST_F(AgentSettings, KnowWhereToRecord) {
  const Settings settings = parse(
      {"SWIPR_RECORD=/tmp/x-{PID}.swipr", "SWIPR_RECORD_INTERVAL=1ms", "SWIPR_RECORD_MODE=cpu"});
  EXPECT_EQ(settings.record_path, "/tmp/x-{PID}.swipr");
  EXPECT_EQ(settings.record_interval, "1ms");
  EXPECT_EQ(settings.record_mode, "cpu");
  EXPECT_TRUE(parse({"SWIPR_RECORD="}).record_path.empty());
  EXPECT_TRUE(settings.record_jitter);
  EXPECT_FALSE(parse({"SWIPR_RECORD_JITTER=off"}).record_jitter);
  EXPECT_TRUE(settings.record_arguments);
  EXPECT_FALSE(parse({"SWIPR_RECORD_ARGUMENTS=off"}).record_arguments);
}

TEST_F(AgentSettings, NameTheUnwinder) {
  EXPECT_EQ(parse({}).unwinder, UnwinderChoice::kSwipr);
  EXPECT_EQ(parse({"SWIPR_UNWINDER="}).unwinder, UnwinderChoice::kSwipr);
  EXPECT_EQ(parse({"SWIPR_UNWINDER=swipr"}).unwinder, UnwinderChoice::kSwipr);
  EXPECT_EQ(parse({"SWIPR_UNWINDER=libunwind"}).unwinder, UnwinderChoice::kLibunwind);
  EXPECT_EQ(parse({"SWIPR_UNWINDER=compare"}).unwinder, UnwinderChoice::kCompare);
  EXPECT_EQ(parse({"SWIPR_UNWINDER=compare"}).unknown_unwinder, "");
  EXPECT_EQ(parse({"SWIPR_UNWINDER=gdb"}).unwinder, UnwinderChoice::kSwipr);
  EXPECT_EQ(parse({"SWIPR_UNWINDER=gdb"}).unknown_unwinder, "gdb");
}

TEST_F(AgentSettings, TakeOnlySignalsThatAProgramCanSpare) {
  EXPECT_EQ(parse({}).signal_number, 0);
  EXPECT_EQ(parse({"SWIPR_SIGNAL=27"}).signal_number, 27);
  for (const char* wrong :
       {"SWIPR_SIGNAL=9", "SWIPR_SIGNAL=11", "SWIPR_SIGNAL=33", "SWIPR_SIGNAL=65",
        "SWIPR_SIGNAL=-1", "SWIPR_SIGNAL=27x", "SWIPR_SIGNAL="}) {
    EXPECT_EQ(parse({wrong}).signal_number, 0) << wrong;
  }
}

TEST_F(AgentSettings, LookAtBlockedThreadsWithoutSignalsUnlessTurnedOff) {
  EXPECT_TRUE(parse({}).signal_free);
  EXPECT_TRUE(parse({"SWIPR_SIGNAL_FREE=on"}).signal_free);
  EXPECT_FALSE(parse({"SWIPR_SIGNAL_FREE=off"}).signal_free);
  EXPECT_TRUE(parse({"SWIPR_RUNTIMES=on"}).runtimes);
  EXPECT_FALSE(parse({"SWIPR_RUNTIMES=off"}).runtimes);
  EXPECT_FALSE(parse({"SWIPR_RUNTIMES=0"}).runtimes);
  EXPECT_EQ(parse({"HOME=/h", "XDG_CACHE_HOME=/c"}).home, "/h");
  EXPECT_EQ(parse({"HOME=/h", "XDG_CACHE_HOME=/c"}).cache_home, "/c");
  EXPECT_EQ(parse({"HOME=/h", "SWIPR_CACHE=off", "XDG_CACHE_HOME=/c"}).home, "");
  EXPECT_EQ(parse({"HOME=/h", "SWIPR_CACHE=off", "XDG_CACHE_HOME=/c"}).cache_home, "");
}

TEST_F(AgentSettings, AreCopies) {
  char variable[] = "SWIPR_SOCKET_DIR=/run/a";
  const Settings settings = parse({variable});
  variable[sizeof variable - 2] = 'b';
  EXPECT_EQ(settings.socket_directory, "/run/a");
  EXPECT_EQ(settings.socket_directory.data()[settings.socket_directory.size()], '\0');
}

TEST_F(AgentSettings, DisableIsOnUnlessEmptyOrZero) {
  EXPECT_TRUE(parse({"SWIPR_DISABLE=1"}).disabled);
  EXPECT_FALSE(parse({"SWIPR_DISABLE=0"}).disabled);
  EXPECT_FALSE(parse({"SWIPR_DISABLE="}).disabled);
  EXPECT_FALSE(parse({"SWIPR_DISABLED=1"}).disabled);
}

TEST_F(AgentSettings, OnlyKeepsEverythingElseAsleep) {
  const Settings settings = parse({"SWIPR_ONLY=redis-*,app"});
  EXPECT_FALSE(asleep(settings, {"sh", "app"}));
  EXPECT_FALSE(asleep(settings, {"redis-server"}));
  EXPECT_TRUE(asleep(settings, {"sh", "dash"}));
}

TEST_F(AgentSettings, ServiceHasThreeSources) {
  const char* const attributes = "OTEL_RESOURCE_ATTRIBUTES=xservice.name=x,service.name=c,host=h";
  EXPECT_EQ(parse({"OTEL_SERVICE_NAME=b", "SWIPR_SERVICE_NAME=a", attributes}).service, "a");
  EXPECT_EQ(parse({attributes, "OTEL_SERVICE_NAME=b", "SWIPR_SERVICE_NAME="}).service, "b");
  EXPECT_EQ(parse({attributes}).service, "c");
  EXPECT_EQ(parse({"OTEL_RESOURCE_ATTRIBUTES=a,b=,c"}).service, "");
  EXPECT_EQ(parse({"SWIPR_LABELS=team=a,x=y"}).labels, "team=a,x=y");
}

TEST_F(AgentSettings, UrlHasFourNamesInOrder) {
  EXPECT_EQ(parse({"PROFILE_RECORDER_SERVER_URL_PATTERN=d"}).server_url, "d");
  EXPECT_EQ(
      parse({"PROFILE_RECORDER_SERVER_URL_PATTERN=d", "PROFILE_RECORDER_SERVER_URL=c"}).server_url,
      "c");
  EXPECT_EQ(parse({"PROFILE_RECORDER_SERVER_URL=c", "SWIPR_SERVER_URL_PATTERN=b"}).server_url, "b");
  EXPECT_EQ(parse({"SWIPR_SERVER_URL_PATTERN=b", "SWIPR_SERVER_URL=a"}).server_url, "a");
}

TEST_F(AgentSettings, HelperSeesNothingOfTheProgramsOwn) {
  const Settings settings = parse({"PATH=/bin", "LD_PRELOAD=x.so", "TOKEN=secret", "LC_ALL=C",
                                   "XDG_CACHE_HOME=/c", "SWIPR_RENDEZVOUS=/r", "noequals"});
  std::vector<std::string> variables;
  for (std::size_t i = 0; i < settings.helper_variable_count; ++i) {
    variables.emplace_back(settings.helper_environment[i]);
  }
  EXPECT_EQ(variables, (std::vector<std::string>{"PATH=/bin", "LC_ALL=C", "XDG_CACHE_HOME=/c"}));
}

TEST_F(AgentSettings, WhatDoesNotFitCountsAsNotSet) {
  const std::string large = "SWIPR_ONLY=" + std::string(kSettingsArenaBytes, 'x');
  const Settings settings = parse({large.c_str(), "SWIPR_SOCKET_DIR=/run/a"});
  EXPECT_TRUE(settings.only.empty());
  EXPECT_EQ(settings.socket_directory, "/run/a");
}

}  // namespace
}  // namespace swipr::agent
