"""Trains a policy on synthetic links and writes the file that `learned(model=FILE)` reads.

    python train.py --seed 1 --steps 500000 --out policy.safetensors

`tools/train` makes the environment that it needs, trains, and scores. A line is an update: steps, what a step was rewarded with in the
mean, and seconds of processor.
"""

import argparse
import time
import tomllib
from pathlib import Path

import gymnasium
import numpy as np
from cellcc.gym import Links
from ppo import Network, Settings, Training
from safetensors.numpy import save_file

HERE = Path(__file__).parent
AGENT, INTERVAL = "bounded", "0.5rtt"
ENVIRONMENTS = 32
LAYERS = "dense one, tanh, dense two, tanh, dense out"
"""`Network` in the words of a card."""
TENSORS = ("one.w", "one.b", "two.w", "two.b", "out.w", "out.b")


def links(part: str) -> list[str]:
    """The names of the links of a part of `links.toml`."""
    names: list[str] = tomllib.loads((HERE / "links.toml").read_text())[part]
    return names


def environments(count: int, duration: str = "15s") -> gymnasium.vector.VectorEnv:
    """Each episode draws a link, a place in it, an RTT from 20 to 100 ms and a queue from 50 to 3200 packets."""
    return gymnasium.make_vec(
        "cellcc/Link-v0", num_envs=count, vectorization_mode="vector_entry_point", agent=AGENT, interval=INTERVAL,
        duration=duration, links=Links(traces=links("train")),
    )  # fmt: skip


def write(policy: Network, file: Path, steps: int, seed: int) -> None:
    """The network and its card: docs/algorithms/learned.md."""
    data = f"{steps} steps on {', '.join(links('train'))}"
    card = {"cellcc": "1", "agent": AGENT, "interval": INTERVAL, "layers": LAYERS, "data": data, "seed": str(seed)}
    tensors = dict(zip(TENSORS, (values.astype(np.float32) for values in policy.parameters), strict=True))
    save_file(tensors, file, metadata=card)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a policy on synthetic links.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--out", type=Path, default=Path("policy.safetensors"))
    arguments = parser.parse_args()
    training = Training(environments(ENVIRONMENTS), Settings(steps=arguments.steps), arguments.seed)
    began = time.process_time()

    def say(steps: int, reward: float) -> None:
        print(f"{steps} {reward:.3f} {time.process_time() - began:.0f}", flush=True)

    write(training.run(say), arguments.out, arguments.steps, arguments.seed)


if __name__ == "__main__":
    main()
