"""Environments of Gymnasium: an agent steers a sender in the simulator.

    import gymnasium
    import cellcc.gym
    env = gymnasium.make("cellcc/Link-v0", agent="orca", links=cellcc.gym.Links(traces=["lte-drive", "3g"]))
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ._cellcc import Episodes, InputError, expand, seconds

AgentName = Literal["plain", "bounded", "orca", "aurora", "indigo"]
"""Whose observations, actions and rewards: docs/how-to/python.md describes them."""

INDIGO_ACTIONS = 5


@dataclasses.dataclass(frozen=True)
class Links:
    """The distribution of episodes: each time one trace, and a number within each range.

    With `offset` an episode begins anywhere in its trace. `background` is cross traffic, such as `"cubic"`, which is there in
    that `share_with_background` of the episodes.
    """

    traces: Sequence[str] = ("3g", "lte-drive", "5g-mmwave-walk")
    rtt_ms: tuple[float, float] = (20.0, 100.0)
    queue_packets: tuple[int, int] = (50, 3200)
    offset: bool = True
    background: str = "cubic"
    share_with_background: float = 0.0

    def __post_init__(self) -> None:
        for name, (least, most) in (("rtt_ms", self.rtt_ms), ("queue_packets", self.queue_packets)):
            if not 0 < least <= most:
                raise InputError(f"{name}=({least}, {most}): a range has its least value first, above zero")
        if not self.traces:
            raise InputError("traces: name at least one")

    def draw(self, random: np.random.Generator) -> dict[str, Any]:
        """The conditions of an episode. The same draws whatever they are used for, so that a seed stays one episode."""
        trace = int(random.integers(len(self.traces)))
        rtt_ms = random.uniform(*self.rtt_ms)
        # Every order of magnitude is as likely as another.
        queue = round(float(np.exp(random.uniform(*np.log(self.queue_packets)))))
        shares = random.random() < self.share_with_background
        return {
            "seed": int(random.integers(2**32)),
            "trace": self.traces[trace],
            "rtt": f"{rtt_ms:.3f}ms",
            "queue": f"{queue}pkt",
            "background": self.background if shares else None,
        }


class _Episodes:
    """The common part of the environments: the episodes of the simulator, and their distribution. One row per learner."""

    def __init__(
        self,
        count: int,
        agent: AgentName,
        interval: str | None,
        links: Links | None,
        duration: str,
        options: Mapping[str, Any] | None,
        learners: int = 1,
    ) -> None:
        links = links or Links()
        self.links = dataclasses.replace(links, traces=expand(list(links.traces)))
        self.agent = agent
        self.observation_width: int
        interval = interval or {"bounded": "0.5rtt", "aurora": "1rtt", "indigo": "10ms"}.get(agent, "20ms")
        given = {"offset": "random" if links.offset else "fixed", "duration": duration, "traces": [self.links.traces[0]]}
        self.core = Episodes(count, agent, interval, learners, {**given, **(options or {})})
        self.learners = learners
        self.observations = np.zeros((count * learners, self.core.width), dtype=np.float32)
        self.rewards = np.zeros(count * learners, dtype=np.float64)
        self.over = np.zeros(count, dtype=np.uint8)
        self.truncated = self.over.view(np.bool_)
        """The same bytes as `over`."""
        self.any_over = False

    def begin(self, index: int, random: np.random.Generator) -> dict[str, Any]:
        conditions = self.links.draw(random)
        self.core.begin(index, **conditions)
        self.observations[index * self.learners : (index + 1) * self.learners] = 0.0
        self.over[index] = 0
        return conditions

    def step(self, actions: NDArray[np.float32]) -> None:
        self.any_over = self.core.step(actions, self.observations, self.rewards, self.over)

    def observation_space(self) -> gymnasium.Space[NDArray[np.float32]]:
        most = 1.0 if self.agent == "bounded" else np.inf
        return gymnasium.spaces.Box(-most, most, (self.core.width,), np.float32)

    def action_space(self) -> gymnasium.spaces.Box | gymnasium.spaces.Discrete[np.int64]:
        if self.agent == "indigo":
            return gymnasium.spaces.Discrete(INDIGO_ACTIONS)
        most = np.inf if self.agent == "aurora" else 1.0
        return gymnasium.spaces.Box(-most, most, (1,), np.float32)


class LinkEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """One sender on one link. An episode is truncated after `duration`; it never terminates by itself.

    `interval` between decisions: a time (`"20ms"`) or minimum round-trip times (`"1rtt"`); by default the agent's own.
    `options` are further conditions, from the keys of a Scenario (`"path.loss"`) to values.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 50}

    def __init__(
        self,
        *,
        agent: AgentName = "plain",
        interval: str | None = None,
        links: Links | None = None,
        duration: str = "30s",
        options: Mapping[str, Any] | None = None,
        render_mode: Literal["ansi"] | None = None,
    ) -> None:
        self.render_mode = render_mode
        self._episodes = _Episodes(1, agent, interval, links, duration, options)
        self.observation_space = self._episodes.observation_space()
        self.action_space = self._episodes.action_space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode; its conditions are in the second value."""
        super().reset(seed=seed)
        conditions = self._episodes.begin(0, self.np_random)
        return self._episodes.observations[0].copy(), conditions

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Takes a decision, and lets its interval pass."""
        episodes = self._episodes
        episodes.step(np.asarray(action, dtype=np.float32).reshape(1))
        return episodes.observations[0].copy(), float(episodes.rewards[0]), False, bool(episodes.over[0]), {}

    def render(self) -> str | None:
        """The episode's time, and the last interval's throughput, queueing delay and window, in a line."""
        return self._episodes.core.line(0) if self.render_mode == "ansi" else None


class LinkVectorEnv(VectorEnv[NDArray[np.float32], Any, NDArray[Any]]):
    """Many senders, each on a link of its own, stepped together. An episode that is over restarts with the next step.

    The arrays that `step` gives are used again by the next one, unless `copy`.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int,
        *,
        agent: AgentName = "plain",
        interval: str | None = None,
        links: Links | None = None,
        duration: str = "30s",
        options: Mapping[str, Any] | None = None,
        copy: bool = True,
    ) -> None:
        self.num_envs = num_envs
        self._episodes = _Episodes(num_envs, agent, interval, links, duration, options)
        self._copy = copy
        self._never = np.zeros(num_envs, dtype=bool)
        self.single_observation_space = self._episodes.observation_space()
        self.single_action_space = self._episodes.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._random = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins every episode. From one seed the environments have that and those after it."""
        seeds = [seed + index for index in range(self.num_envs)] if isinstance(seed, int) else seed
        for index, own in enumerate(seeds or ()):
            if own is not None:
                # As `Env.reset` does it, so that a seed is the same episode here and there.
                self._random[index], _ = gymnasium.utils.seeding.np_random(own)
        for index in range(self.num_envs):
            self._episodes.begin(index, self._random[index])
        return self._episodes.observations.copy(), {}

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Takes a decision in every episode, and lets their intervals pass."""
        episodes = self._episodes
        ended = episodes.over.nonzero()[0] if episodes.any_over else ()
        episodes.step(np.ascontiguousarray(actions, dtype=np.float32).reshape(self.num_envs))
        for index in ended:
            episodes.begin(int(index), self._random[index])
        if not self._copy:
            return episodes.observations, episodes.rewards, self._never, episodes.truncated, {}
        return episodes.observations.copy(), episodes.rewards.copy(), self._never.copy(), episodes.truncated.copy(), {}


gymnasium.register(id="cellcc/Link-v0", entry_point="cellcc.gym:LinkEnv", vector_entry_point="cellcc.gym:LinkVectorEnv")
