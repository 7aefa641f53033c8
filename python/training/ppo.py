"""Proximal policy optimisation (Schulman et al., arXiv:1707.06347) in NumPy: networks this small need no more.

As in CleanRL's single file for continuous actions: a Gaussian policy whose deviation does not depend on the observation, clipped
ratios, generalised advantage estimates, a network of its own for the value.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Settings:
    """CleanRL's (ppo_continuous_action.py), but for what is said."""

    steps: int = 500_000
    rollout: int = 128
    """Steps of each environment between two updates."""
    epochs: int = 4
    """CleanRL: 10."""
    minibatches: int = 8
    """CleanRL: 32, of more steps."""
    learning_rate: float = 1e-3
    """It falls to zero. CleanRL: 3e-4."""
    discount: float = 0.97
    """CleanRL: 0.99, of longer tasks: 33 decisions are 16 round-trip times."""
    trace_decay: float = 0.95
    clip: float = 0.2
    hidden: int = 32
    """Numbers of each of two layers. CleanRL: 64."""
    log_deviation: float = -1.0
    """At first. CleanRL: 0."""


class Network:
    """Two layers of tanh and a linear one, with Adam."""

    def __init__(self, inputs: int, hidden: int, last_scale: float, random: np.random.Generator) -> None:
        self.parameters: list[Floats] = []
        for rows, columns, scale in ((inputs, hidden, 1.0), (hidden, hidden, 1.0), (hidden, 1, last_scale)):
            self.parameters += [random.normal(0.0, scale / np.sqrt(rows), (rows, columns)), np.zeros(columns)]

    def forward(self, inputs: Floats) -> tuple[Floats, list[Floats]]:
        """A number for each row, and what `gradients` needs."""
        first, first_bias, second, second_bias, last, last_bias = self.parameters
        one = np.tanh(inputs @ first + first_bias)
        two = np.tanh(one @ second + second_bias)
        return (two @ last + last_bias)[:, 0], [inputs, one, two]

    def gradients(self, kept: list[Floats], by_output: Floats) -> list[Floats]:
        """Of a sum over rows, whose derivative by each row's number is given."""
        inputs, one, two = kept
        by_last = by_output[:, None]
        by_two = (by_last @ self.parameters[4].T) * (1.0 - two**2)
        by_one = (by_two @ self.parameters[2].T) * (1.0 - one**2)
        pairs = ((inputs, by_one), (one, by_two), (two, by_last))
        return [gradient for before, after in pairs for gradient in (before.T @ after, after.sum(axis=0))]


class Adam:
    """Kingma and Ba, arXiv:1412.6980, over gradients of a length of 0.5 at most (CleanRL)."""

    def __init__(self, parameters: list[Floats]) -> None:
        self.parameters = parameters
        self.means = [np.zeros_like(values) for values in parameters]
        self.squares = [np.zeros_like(values) for values in parameters]
        self.count = 0

    def step(self, gradients: list[Floats], rate: float) -> None:
        length = np.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
        shorter = min(1.0, 0.5 / (length + 1e-6))
        self.count += 1
        for values, gradient, mean, square in zip(self.parameters, gradients, self.means, self.squares, strict=True):
            gradient = gradient * shorter
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            unbiased = np.sqrt(square / (1.0 - 0.999**self.count)) + 1e-5
            values -= rate * (mean / (1.0 - 0.9**self.count)) / unbiased


@dataclasses.dataclass
class Rollout:
    """What the environments showed; one row a step, one column an environment."""

    observations: Floats
    actions: Floats
    rewards: Floats
    over: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    """Not where the step only began the next episode."""
    last: Floats
    """Observations after the last step."""


class Training:
    """A policy under way."""

    def __init__(self, env: VectorEnv[Any, Any, Any], settings: Settings, seed: int) -> None:
        self.env, self.settings = env, settings
        self.random = np.random.default_rng(seed)
        width = env.single_observation_space.shape[0]
        self.policy = Network(width, settings.hidden, 0.01, self.random)
        self.value = Network(width, settings.hidden, 1.0, self.random)
        self.log_deviation = np.array([settings.log_deviation])
        self.policy_steps = Adam([*self.policy.parameters, self.log_deviation])
        self.value_steps = Adam(self.value.parameters)
        self.observations = np.asarray(env.reset(seed=seed)[0], dtype=np.float64)
        self.begins = np.zeros(env.num_envs, dtype=bool)

    def run(self, say: Callable[[int, float], None]) -> Network:
        """Trains, and says after each update how many steps there were and what a step was rewarded with in the mean."""
        a_rollout = self.settings.rollout * self.env.num_envs
        updates = max(1, self.settings.steps // a_rollout)
        for update in range(updates):
            rollout = self.collect()
            self.update(rollout, self.settings.learning_rate * (1.0 - update / updates))
            say((update + 1) * a_rollout, float(rollout.rewards[rollout.counts].mean()))
        return self.policy

    def collect(self) -> Rollout:
        """Follows the policy, with its noise."""
        rows: list[tuple[Any, ...]] = []
        for _ in range(self.settings.rollout):
            means, _ = self.policy.forward(self.observations)
            actions = means + np.exp(self.log_deviation) * self.random.standard_normal(means.shape)
            observations, rewards, _, over, _ = self.env.step(np.clip(actions, -1.0, 1.0)[:, None])
            rows.append((self.observations, actions, rewards, over.copy(), ~self.begins))
            self.observations, self.begins = np.asarray(observations, dtype=np.float64), over.copy()
        return Rollout(*(np.array(column) for column in zip(*rows, strict=True)), self.observations)

    def advantages(self, rollout: Rollout) -> tuple[Floats, Floats]:
        """Generalised advantage estimates, and the values that they are above."""
        settings = self.settings
        every = np.concatenate([rollout.observations, rollout.last[None]])
        values = self.value.forward(every.reshape(-1, every.shape[-1]))[0].reshape(every.shape[:2])
        advantages = np.zeros_like(rollout.rewards)
        later = np.zeros(self.env.num_envs)
        for step in reversed(range(settings.rollout)):
            # An episode is cut off and does not end: what follows still counts by its value.
            surprise = rollout.rewards[step] + settings.discount * values[step + 1] - values[step]
            later = surprise + settings.discount * settings.trace_decay * np.where(rollout.over[step], 0.0, later)
            advantages[step] = later
        return advantages, values[:-1]

    def update(self, rollout: Rollout, rate: float) -> None:
        """Learns from a rollout."""
        advantages, values = self.advantages(rollout)
        counts = rollout.counts
        observations, actions = rollout.observations[counts], rollout.actions[counts]
        advantages, values = advantages[counts], values[counts]
        targets = advantages + values
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        before = self.log_density(self.policy.forward(observations)[0], actions)
        for _ in range(self.settings.epochs):
            for rows in np.array_split(self.random.permutation(len(actions)), self.settings.minibatches):
                self.improve_policy(observations[rows], actions[rows], advantages[rows], before[rows], rate)
                outputs, kept = self.value.forward(observations[rows])
                self.value_steps.step(self.value.gradients(kept, (outputs - targets[rows]) / len(rows)), rate)

    def log_density(self, means: Floats, actions: Floats) -> Floats:
        """Of actions, but for a constant."""
        return -0.5 * ((actions - means) / np.exp(self.log_deviation)) ** 2 - self.log_deviation

    def improve_policy(self, observations: Floats, actions: Floats, advantages: Floats, before: Floats, rate: float) -> None:
        means, kept = self.policy.forward(observations)
        ratios = np.exp(self.log_density(means, actions) - before)
        clip = self.settings.clip
        # Where the ratio is clipped already, the objective is flat.
        moves = np.where(advantages >= 0.0, ratios < 1.0 + clip, ratios > 1.0 - clip)
        by_log_density = -np.where(moves, advantages * ratios, 0.0) / len(actions)
        variance = np.exp(2.0 * self.log_deviation)
        by_mean = by_log_density * (actions - means) / variance
        by_log_deviation = (by_log_density * ((actions - means) ** 2 / variance - 1.0)).sum(keepdims=True)
        self.policy_steps.step([*self.policy.gradients(kept, by_mean), by_log_deviation], rate)
