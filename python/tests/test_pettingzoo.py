"""The environment of PettingZoo."""

import numpy as np
import pytest
from cellcc.gym import LinkEnv, Links
from cellcc.pettingzoo import SharedLinkEnv
from pettingzoo.test import parallel_api_test, parallel_seed_test

LINKS = Links(traces=["24Mbit/s"], rtt_ms=(50, 50), queue_packets=(500, 500), offset=False)


@pytest.mark.parametrize("agent", ["bounded", "indigo"])
def test_pettingzoos_checkers_find_nothing(agent):
    parallel_api_test(SharedLinkEnv(3, agent=agent, duration="2s"), num_cycles=200)
    parallel_seed_test(lambda: SharedLinkEnv(2, agent=agent, duration="2s"), num_cycles=50)


def test_two_senders_of_one_window_share_a_link_and_its_queue():
    env = SharedLinkEnv(2, agent="indigo", links=LINKS, render_mode="ansi")
    env.reset(seed=1)
    # Each from 10 packets to 50: together the 100 of 24 Mbit/s in 50 ms.
    for step in range(1000):
        action = 3 if step < 4 else 2
        _, rewards, _, _, _ = env.step(dict.fromkeys(env.agents, action))
        if step == 500:
            shown = env.render()
    assert shown.count("Mbit/s") == 2
    assert list(rewards.values()) == [pytest.approx(0.5, abs=0.1)] * 2


def test_one_sender_has_the_episodes_of_the_environment_of_gymnasium():
    shared, single = SharedLinkEnv(1, links=LINKS, duration="1s"), LinkEnv(links=LINKS, duration="1s")
    shared.reset(seed=3)
    single.reset(seed=3)
    while shared.agents:
        seen, rewards, _, over, _ = shared.step({"sender_0": [0.3]})
        expected, reward, _, truncated, _ = single.step([0.3])
        np.testing.assert_array_equal(seen["sender_0"], expected)
        assert (rewards["sender_0"], over["sender_0"]) == (reward, truncated)
