"""The trainer of python/training: its derivatives, that it learns, and that its file is the policy that it learned."""

import sys
from pathlib import Path

import cellcc
import numpy as np
import pytest
from cellcc.gym import LinkEnv, Links

TRAINING = Path(__file__).parents[1] / "training"
sys.path.insert(0, str(TRAINING))

import ppo  # noqa: E402
import train  # noqa: E402

COMMITTED = TRAINING / "policy.safetensors"


def test_gradients_are_those_of_small_differences():
    random = np.random.default_rng(1)
    network = ppo.Network(4, 5, 1.0, random)
    inputs, weights = random.standard_normal((7, 4)), random.standard_normal(7)
    gradients = network.gradients(network.forward(inputs)[1], weights)
    for values, gradient in zip(network.parameters, gradients, strict=True):
        for index in np.ndindex(values.shape):
            kept, sums = values[index], []
            for step in (1e-6, -1e-6):
                values[index] = kept + step
                sums.append(network.forward(inputs)[0] @ weights)
            values[index] = kept
            assert gradient[index] == pytest.approx((sums[0] - sums[1]) / 2e-6, rel=1e-4, abs=1e-6)


def test_a_short_training_learns_and_its_file_gives_what_the_network_gives(tmp_path):
    rewards = []
    training = ppo.Training(train.environments(32, duration="5s"), ppo.Settings(steps=40_960), seed=1)
    policy = training.run(lambda _steps, reward: rewards.append(reward))
    assert len(rewards) == 10
    assert rewards[-1] > rewards[0] + 0.1
    file = tmp_path / "policy.safetensors"
    train.write(policy, file, 40_960, 1)
    seen = np.random.default_rng(2).uniform(-1, 1, (100, 24)).astype(np.float32)
    given = [cellcc.Policy(f"learned(model={file})").outputs(row)[0] for row in seen]
    np.testing.assert_allclose(given, policy.forward(seen.astype(np.float64))[0], rtol=0, atol=1e-5)


def test_the_committed_policy_does_as_a_scheme_what_it_does_in_an_environment():
    scheme = f"learned(model={COMMITTED})"
    policy = cellcc.Policy(scheme)
    links = Links(traces=["12Mbit/s"], rtt_ms=(40, 40), queue_packets=(500, 500), offset=False)
    env = LinkEnv(agent=train.AGENT, interval=train.INTERVAL, links=links, duration="20s")
    seen, _ = env.reset(seed=1)
    over, delivered = False, []
    while not over:
        seen, _, _, over, _ = env.step(policy.outputs(seen))
        delivered.append(env._episodes.core.delivered_packets(0))
    in_env = delivered[-1] * 1500 * 8 / 20 / 12e6
    as_scheme = next(run for run in cellcc.compare(scheme, "12Mbit/s", rtt="40ms", queue="500pkt", duration="20s") if run.scheme == scheme)
    assert as_scheme.metrics["utilisation"] > 0.8
    assert as_scheme.metrics["utilisation"] == pytest.approx(in_env, abs=0.03)
