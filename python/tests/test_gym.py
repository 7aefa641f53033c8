"""The environments of Gymnasium."""

import warnings

import cellcc
import gymnasium
import numpy as np
import pytest
from cellcc.gym import LinkEnv, Links, LinkVectorEnv
from gymnasium.utils.env_checker import check_env

AGENTS = ["plain", "bounded", "orca", "aurora", "indigo"]


@pytest.mark.parametrize("agent", AGENTS)
def test_gymnasiums_checker_finds_nothing(agent):
    with warnings.catch_warnings():
        # It only recommends bounds; what a sender sees has none.
        warnings.filterwarnings("ignore", ".*(infinity|we recommend).*")
        check_env(LinkEnv(agent=agent, duration="2s"), skip_render_check=True)


def episode(env: gymnasium.Env, seed: int, steps: int = 60) -> np.ndarray:
    seen = [env.reset(seed=seed)[0]]
    random = np.random.default_rng(seed)
    for _ in range(steps):
        action = random.integers(5) if isinstance(env.action_space, gymnasium.spaces.Discrete) else random.uniform(-1, 1, 1)
        observation, reward, *_ = env.step(action)
        seen.append(np.append(observation, np.float32(reward))[: len(observation)])
    return np.array(seen)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_seed_is_the_same_episode_and_another_seed_another(agent):
    first, again = episode(LinkEnv(agent=agent), 3), episode(LinkEnv(agent=agent), 3)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, episode(LinkEnv(agent=agent), 4))


def test_a_vector_of_environments_has_the_episodes_of_single_ones():
    vector = LinkVectorEnv(3, duration="1s", interval="100ms")
    singles = [LinkEnv(duration="1s", interval="100ms") for _ in range(3)]
    vector.reset(seed=7)
    for index, env in enumerate(singles):
        env.reset(seed=7 + index)
    for step in range(25):
        actions = np.full((3, 1), 0.1 * (step % 3), dtype=np.float32)
        observations, rewards, terminated, truncated, _ = vector.step(actions)
        for index, env in enumerate(singles):
            if step % 11 == 10:  # The episode of ten steps is over: this step begins the next one.
                expected, reward, over = env.reset()[0], 0.0, False
            else:
                expected, reward, _, over, _ = env.step(actions[index])
            np.testing.assert_array_equal(observations[index], expected)
            assert (rewards[index], truncated[index]) == (reward, over)
        assert not terminated.any()


def test_an_agent_that_keeps_one_bdp_in_flight_fills_a_link_and_queues_little():
    links = Links(traces=["12Mbit/s"], rtt_ms=(50, 50), queue_packets=(500, 500), offset=False)
    env = LinkEnv(agent="indigo", links=links, duration="20s")
    env.reset(seed=1)
    # 50 packets of 1500 bytes in 50 ms are 12 Mbit/s: from 10, in steps of 10.
    rewards = [env.step(3 if step < 4 else 2)[1] for step in range(1000)]
    assert np.mean(rewards[500:]) > 0.9
    # Twice as many are a queue of an RTT.
    env.reset(seed=1)
    rewards = [env.step(3 if step < 9 else 2)[1] for step in range(1000)]
    assert np.mean(rewards[500:]) == pytest.approx(0.0, abs=0.1)


def test_repetitions_and_access_are_options_and_lengthen_what_a_sender_sees():
    links = Links(traces=["12Mbit/s"], rtt_ms=(50, 50), queue_packets=(500, 500), offset=False)
    radio = {"path.harq": "fdd", "path.reverse.access": "request=20ms", "path.reverse.harq": "fdd-up"}
    plain, with_radio = (episode(LinkEnv(links=links, duration="5s", options=options), 3) for options in (None, radio))
    assert not np.array_equal(plain, with_radio)
    np.testing.assert_array_equal(with_radio, episode(LinkEnv(links=links, duration="5s", options=radio), 3))
    with pytest.raises(cellcc.InputError, match="harq"):
        LinkEnv(links=links, options={"path.harq": "lte"})


def test_aurora_decides_once_an_rtt_and_its_rate_goes_up_and_down():
    env = LinkEnv(agent="aurora", links=Links(traces=["100Mbit/s"], rtt_ms=(50, 50), offset=False), duration="10s")
    env.reset(seed=1)
    steps = 0
    over = False
    while not over:
        _, _, _, over, _ = env.step([0.0])
        steps += 1
    assert steps == pytest.approx(200, abs=10)


def test_other_words_are_refused_with_those_that_are_taken():
    for arguments, word in [({"agent": "orka"}, "orca"), ({"interval": "20"}, "20ms"), ({"interval": "0.01rtt"}, "0.1rtt")]:
        with pytest.raises(cellcc.InputError, match=word):
            LinkEnv(**arguments)
    with pytest.raises(cellcc.InputError, match="rtt_ms"):
        Links(rtt_ms=(50, 20))


def test_a_bounded_agent_sees_numbers_from_minus_one_to_one_whatever_it_does():
    env = LinkVectorEnv(6, agent="bounded", duration="5s", links=Links(traces=["3g", "5g-mmwave-walk"], queue_packets=(5, 5000)))
    env.reset(seed=1)
    random = np.random.default_rng(1)
    for _ in range(200):
        observations = env.step(random.choice([-1.0, 0.5, 1.0], (6, 1)))[0]
        assert env.observation_space.contains(observations)
    assert np.ptp(observations) > 0.5


def test_an_episode_is_shown_in_a_line():
    links = Links(traces=["12Mbit/s"], rtt_ms=(50, 50), queue_packets=(500, 500), offset=False)
    env = LinkEnv(links=links, render_mode="ansi")
    env.reset(seed=1)
    for step in range(50):
        env.step([1.0 if step < 5 else 0.0])
    # Ten packets five times doubled are 320, a millisecond each: 51 are a round trip with a packet's own, 269 are in the queue.
    assert env.render() == "1.00 s  12.00 Mbit/s, 269.0 ms queued, window 480kB"
    assert LinkEnv(links=links).render() is None


def test_it_is_registered():
    env = gymnasium.make("cellcc/Link-v0", agent="orca", duration="1s")
    assert env.observation_space.shape == (70,)
