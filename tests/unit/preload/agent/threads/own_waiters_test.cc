#include "preload/agent/threads/own_waiters.h"

#include <gtest/gtest.h>

namespace swipr::agent {
namespace {

class AgentOwnWaiters : public testing::Test {
 protected:
  AgentOwnWaiters() { own_waiters::clear(); }
  ~AgentOwnWaiters() override { own_waiters::clear(); }
};

TEST_F(AgentOwnWaiters, HoldAThreadWhoseNeighbourHasLeft) {
  own_waiters::enter(Tid{7});
  own_waiters::enter(Tid{8});
  own_waiters::leave(Tid{8});
  EXPECT_TRUE(own_waiters::contains(Tid{7}));
  EXPECT_FALSE(own_waiters::contains(Tid{8}));
  own_waiters::leave(Tid{7});
  EXPECT_FALSE(own_waiters::contains(Tid{7}));
}

TEST_F(AgentOwnWaiters, TakeAThreadOnceOnly) {
  own_waiters::enter(Tid{7});
  own_waiters::enter(Tid{7});
  own_waiters::leave(Tid{7});
  EXPECT_FALSE(own_waiters::contains(Tid{7}));
}

TEST_F(AgentOwnWaiters, AreBoundedAndTakeNewOnesWhenOthersLeft) {
  const auto limit = static_cast<std::int32_t>(own_waiters::kMaxWaiters);
  for (std::int32_t tid = 1; tid <= limit + 1; ++tid) own_waiters::enter(Tid{tid});
  EXPECT_TRUE(own_waiters::contains(Tid{limit}));
  EXPECT_FALSE(own_waiters::contains(Tid{limit + 1}));
  own_waiters::leave(Tid{limit + 1});
  own_waiters::leave(Tid{1});
  own_waiters::enter(Tid{limit + 1});
  EXPECT_TRUE(own_waiters::contains(Tid{limit + 1}));
}

}  // namespace
}  // namespace swipr::agent
