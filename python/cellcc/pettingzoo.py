"""An environment of PettingZoo: several agents, each of which steers a sender, share a link.

    from pettingzoo.test import parallel_api_test
    from cellcc.pettingzoo import SharedLinkEnv
    parallel_api_test(SharedLinkEnv(agents=3))
"""

from collections.abc import Mapping
from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from .gym import AgentName, Links, _Episodes


class SharedLinkEnv(ParallelEnv):  # type: ignore[misc]
    """`agents` senders on one link, each with the observation and reward of `LinkEnv`. All decide at once, after the
    longest of their intervals."""

    metadata = {"name": "cellcc_shared_link_v0", "render_modes": ["ansi"], "render_fps": 50}

    def __init__(
        self,
        agents: int = 2,
        *,
        agent: AgentName = "plain",
        interval: str | None = None,
        links: Links | None = None,
        duration: str = "30s",
        options: Mapping[str, Any] | None = None,
        render_mode: Literal["ansi"] | None = None,
    ) -> None:
        self.render_mode = render_mode
        self.possible_agents = [f"sender_{index}" for index in range(agents)]
        self.agents: list[str] = []
        self._episodes = _Episodes(1, agent, interval, links, duration, options, learners=agents)
        self._spaces = {name: (self._episodes.observation_space(), self._episodes.action_space()) for name in self.possible_agents}
        self._random = np.random.default_rng()

    def observation_space(self, agent: str) -> gymnasium.Space[NDArray[np.float32]]:
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, dict[str, Any]]]:
        """Begins an episode; its conditions are in the second value."""
        if seed is not None:
            self._random, _ = gymnasium.utils.seeding.np_random(seed)
        conditions = self._episodes.begin(0, self._random)
        self.agents = list(self.possible_agents)
        return self._observations(), {name: dict(conditions) for name in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Takes a decision of each agent, and lets the interval pass."""
        episodes, names = self._episodes, self.agents
        episodes.step(np.array([np.asarray(actions[name]).item() for name in names], dtype=np.float32))
        over = bool(episodes.over[0])
        observations = self._observations()
        rewards = dict(zip(names, map(float, episodes.rewards), strict=True))
        if over:
            self.agents = []
        return observations, rewards, dict.fromkeys(names, False), dict.fromkeys(names, over), {name: {} for name in names}

    def render(self) -> str | None:
        """The episode's time, and of each agent the last interval's throughput, queueing delay and window, in a line."""
        return self._episodes.core.line(0) if self.render_mode == "ansi" else None

    def _observations(self) -> dict[str, NDArray[np.float32]]:
        return {name: row.copy() for name, row in zip(self.agents, self._episodes.observations, strict=True)}
