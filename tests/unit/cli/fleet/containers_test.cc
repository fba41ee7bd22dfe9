#include "cli/fleet/containers.h"

#include <gtest/gtest.h>

#include <string>

namespace swipr::fleet {
namespace {

const std::string kId(64, 'a');
const std::string kOther(64, 'b');

TEST(ContainerId, IsFoundForEachRuntime) {
  std::string nested = "/docker/";
  nested.append(kOther).append("/docker/").append(kId);
  for (const std::string& path :
       {"/docker/" + kId, "/system.slice/docker-" + kId + ".scope",
        "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + kId + ".scope",
        "/kubepods/burstable/pod12/crio-" + kId,
        "/machine.slice/libpod-" + kId + ".scope/container",
        "/ecs/0123456789abcdef0123456789abcdef/" + kId, nested}) {
    std::string unified = "0::";
    EXPECT_EQ(find_container_id(unified.append(path).append("\n")), kId) << path;
    std::string older = "2:cpu,cpuacct:/\n1:name=systemd:";
    EXPECT_EQ(find_container_id(older.append(path)), kId) << path;
  }
  const std::string task = "0123456789abcdef0123456789abcdef-265927825";
  EXPECT_EQ(find_container_id("1:memory:/ecs/0123456789abcdef0123456789abcdef/" + task), task);
}

TEST(ContainerId, IsEmptyOutside) {
  for (const std::string& text :
       {std::string(), std::string("0::/"), std::string("0::/user.slice/session-1.scope"),
        std::string("0::/libpod-conmon-") + kId + ".scope", std::string("no colons"),
        "0::/" + kId.substr(1), "0::/docker-" + std::string(64, 'x') + ".scope"}) {
    EXPECT_EQ(find_container_id(text), "") << text;
  }
}

TEST(ContainerId, IsFoundInMountsBehindACgroupNamespace) {
  const std::string mounts =
      "10 9 0:1 / /proc rw - proc proc rw\n"
      "11 9 8:1 /var/lib/docker/containers/" +
      kId + "/hostname /etc/hostname rw - ext4 /dev/sda rw\n";
  EXPECT_EQ(find_container_id("0::/", mounts), kId);
  EXPECT_EQ(find_container_id("0::/", "11 9 8:1 /data/" + kId + " /srv rw - ext4 /dev/sda rw\n"),
            "");
}

TEST(ServiceUnit, IsThatOfTheSystem) {
  EXPECT_EQ(find_service_unit("0::/system.slice/nginx.service\n"), "nginx");
  EXPECT_EQ(find_service_unit("0::/system.slice/system-getty.slice/getty@tty1.service"),
            "getty@tty1");
  EXPECT_EQ(find_service_unit("0::/user.slice/user-1.slice/user@1.service/app.slice/x.service"),
            "x");
  EXPECT_EQ(find_service_unit("0::/user.slice/user-1.slice/user@1.service/session.scope"), "");
  EXPECT_EQ(find_service_unit("1:name=systemd:/\n0::/system.slice/a.service"), "a");
}

TEST(ContainerName, FollowsWhatIsKnown) {
  EXPECT_EQ(container_name({}, kId), "aaaaaaaaaaaa");
  EXPECT_EQ(container_name({"web", "", "", ""}, kId), "web");
  EXPECT_EQ(container_name({"web", "shop-1", "prod", "u1"}, kId), "k8s_web_shop-1_prod_u1_0");
  EXPECT_EQ(container_name({"a_b", "p", "n", "u"}, kId), "k8s_a-b_p_n_u_0");
  EXPECT_EQ(container_name({}, ""), "");
}

}  // namespace
}  // namespace swipr::fleet
