"""The real traces that stand behind each synthetic link, and how to read them."""

import os
import sys
from glob import glob

import numpy as np

ROOT = os.environ.get("CELLCC_TRACES") or sys.exit("set CELLCC_TRACES to the folder of the real traces")


def files(*patterns):
    paths = [path for pattern in patterns for path in sorted(glob(os.path.join(ROOT, pattern)))]
    return paths or sys.exit(f"no traces match {patterns} in {ROOT}")


GROUPS = {
    "5g-mmwave-walk": files("5g-mmwave/*-walking.mbps"),
    "5g-mmwave-drive": files("5g-mmwave/*-driving.mbps"),
    "lte-drive": files("lte-mahimahi/*-LTE-driving*.down", "lte-nyc/*taxi*", "lte-nyc/*bus*"),
    "lte-static": files("lte-nyc/*home*", "lte-nyc/*timessquare*", "lte-mahimahi/*-LTE-short.down"),
    # Downlinks only, and without 3g-hspa/rapidGold, which is itself synthetic.
    "3g": files("3g-nyc/downlink*", "3g-hspa/C*", "3g-hspa/H*", "lte-mahimahi/*UMTS*.down"),
}

# Rebuilt from 50-ms counts: says nothing about shorter times.
REBUILT = set(files("lte-mahimahi/*.rebuilt.down"))


def load(path):
    """The 1-s rates in Mbit/s, and the rates of 100 slots of 10 ms in each second where the trace has them."""
    if path.endswith(".mbps"):
        return np.loadtxt(path)[:, 1], None
    times = np.loadtxt(path, dtype=int)
    seconds = times[-1] // 1000
    counts = np.bincount(times[times < seconds * 1000] // 10, minlength=seconds * 100)
    slots = (counts * 1500 * 8 / 0.01 / 1e6).reshape(seconds, 100)
    return slots.mean(1), slots
