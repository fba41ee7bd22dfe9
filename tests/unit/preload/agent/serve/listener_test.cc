#include "preload/agent/serve/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace swipr::agent {
namespace {

class AgentListener : public testing::Test {
 protected:
  AgentListener() {
    std::string pattern = testing::TempDir() + "swipr-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    directory_ = root_ + "/sockets";
    settings_.socket_directory = directory_;
  }
  ~AgentListener() override { std::filesystem::remove_all(root_); }

  std::string root_;
  std::string directory_;
  Settings settings_;
};

TEST_F(AgentListener, MakesAPrivateDirectoryAndSocket) {
  Listener listener;
  const mode_t mask = ::umask(0027);
  ASSERT_TRUE(open_default_listener(settings_, 42, listener));
  EXPECT_EQ(::umask(mask), 0027u);  // the program's
  EXPECT_EQ(listener.path.view(), directory_ + "/42.sock");
  struct stat status {};
  ASSERT_EQ(::stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(listener.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
  const int client = connect_unix(listener.path.view());
  EXPECT_GE(client, 0);
  EXPECT_TRUE(is_trusted_peer(client));
  ::close(client);
  ::close(listener.fd);
}

TEST_F(AgentListener, ReplacesTheSocketOfADeadProcess) {
  Listener dead;
  ASSERT_TRUE(open_default_listener(settings_, 42, dead));
  ::close(dead.fd);
  Listener listener;
  ASSERT_TRUE(open_default_listener(settings_, 42, listener));
  EXPECT_EQ(listener.path.view(), dead.path.view());
  ::close(listener.fd);
}

TEST_F(AgentListener, GivesWayToALiveSocketOfTheSamePid) {
  Listener first;
  Listener second;
  ASSERT_TRUE(open_default_listener(settings_, 1, first));
  ASSERT_TRUE(open_default_listener(settings_, 1, second));
  EXPECT_EQ(first.path.view(), directory_ + "/1.sock");
  EXPECT_TRUE(second.path.view().starts_with(directory_ + "/1-4"));  // inodes from 0xf0000000
  ::close(first.fd);
  ::close(second.fd);
}

// Such as an emptyDir, which belongs to root and is open to all, without a sticky bit or with one.
TEST_F(AgentListener, HasAFolderOfItsOwnInADirectoryThatOthersCanChange) {
  std::filesystem::create_directory(directory_);
  const std::string own = directory_ + "/" + std::to_string(::geteuid());
  for (const mode_t mode : {0777u, 01777u, 0770u}) {
    ::chmod(directory_.c_str(), mode);
    Listener listener;
    ASSERT_TRUE(open_default_listener(settings_, 42, listener));
    EXPECT_EQ(listener.path.view(), own + "/42.sock");
    struct stat status {};
    ASSERT_EQ(::stat(own.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    ::close(listener.fd);
  }
  std::filesystem::remove_all(own);
  std::filesystem::create_directory_symlink("/tmp", own);
  Listener listener;
  EXPECT_FALSE(open_default_listener(settings_, 42, listener));
}

TEST_F(AgentListener, UsesTheNextPlaceIfTheFirstIsRefused) {
  settings_.socket_directory = {};
  settings_.runtime_directory = "/dev/null";
  Listener listener;
  ASSERT_TRUE(open_default_listener(settings_, 42'000'000, listener));
  const std::string file = std::to_string(::geteuid()) + "/42000000.sock";
  EXPECT_THAT(std::string(listener.path.view()),
              testing::AnyOf("/tmp/swipr-" + file, "/run/swipr/" + file));
  ::unlink(listener.path.c_str());
  ::close(listener.fd);
}

TEST_F(AgentListener, RefusesADirectoryOfAnotherUser) {
  std::filesystem::create_directory(directory_);
  if (::chown(directory_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  ::chmod(directory_.c_str(), 0700);
  Listener listener;
  EXPECT_FALSE(open_default_listener(settings_, 42, listener));
}

TEST_F(AgentListener, RefusesASymbolicLink) {
  std::filesystem::create_directory(root_ + "/elsewhere");
  std::filesystem::create_directory_symlink(root_ + "/elsewhere", directory_);
  Listener listener;
  EXPECT_FALSE(open_default_listener(settings_, 42, listener));
}

TEST_F(AgentListener, LeavesAFileThatIsNoSocketAlone) {
  const std::string folder = root_ + "/folder";
  const std::string file = root_ + "/file";
  std::filesystem::create_directory(folder);
  std::ofstream(file) << "precious";
  for (const std::string& path : {folder, file}) {
    const std::string url = "unix://" + path;
    settings_.server_url = url;
    Listener listener;
    EXPECT_FALSE(open_url_listener(settings_, 42, listener)) << path;
  }
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  EXPECT_TRUE(std::filesystem::is_regular_file(file));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root_), {}), 2);
}

TEST_F(AgentListener, ListensOnLoopbackOnly) {
  settings_.server_url = "http://127.0.0.1:0";
  Listener listener;
  ASSERT_TRUE(open_url_listener(settings_, 42, listener));
  EXPECT_TRUE(listener.is_tcp);
  EXPECT_TRUE(listener.url.view().starts_with("http://127.0.0.1:"));
  EXPECT_FALSE(listener.url.view().ends_with(":0"));
  ::close(listener.fd);
  settings_.server_url = "http://0.0.0.0:0";
  Listener remote;
  EXPECT_FALSE(open_url_listener(settings_, 42, remote));
  settings_.server_token = "sixteen letters!";
  EXPECT_FALSE(open_url_listener(settings_, 42, remote));
  settings_.allow_remote = true;
  settings_.server_token = {};
  EXPECT_FALSE(open_url_listener(settings_, 42, remote));
  settings_.server_token = "fifteen letters";
  EXPECT_FALSE(open_url_listener(settings_, 42, remote));
  settings_.server_token = "sixteen letters!";
  EXPECT_TRUE(open_url_listener(settings_, 42, remote));
  ::close(remote.fd);
}

}  // namespace
}  // namespace swipr::agent
