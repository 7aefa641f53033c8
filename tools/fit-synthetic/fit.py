"""Fits the constants of crates/link/src/synthetic.rs to the real traces and prints them as Rust.

Usage: CELLCC_TRACES=/path/to/traces python3 fit.py
"""

from statistics import NormalDist

import numpy as np

from traces import GROUPS, REBUILT, load

# Shares at which the distribution of the 1-s rates is kept; the outage share is added for each link.
SHARES = [0.05, 0.10, 0.25, 0.40, 0.50, 0.60, 0.75, 0.90, 0.95, 0.99]
OUTAGE_MBIT = 1.0
LAGS = np.array([1, 2, 3, 5, 10, 20, 30, 60])
SLOTS = 100  # of 10 ms in a second


def quantiles(rates, weights):
    """[(share of the seconds below, Mbit/s)], from 0 to 1, with every trace weighing the same."""
    order = np.argsort(rates)
    rates, below = rates[order], np.cumsum(weights[order])
    outage = weights[order][rates < OUTAGE_MBIT].sum()
    knots = [(0.0, 0.0), (outage, OUTAGE_MBIT)]
    knots += [(s, np.interp(s, below, rates)) for s in SHARES if s > outage + 0.01]
    # The last knot is where a straight line keeps the mean of the fastest hundredth: the maximum is one sample.
    fastest = np.average(rates[below > 0.99], weights=weights[order][below > 0.99])
    knots.append((1.0, 2 * fastest - knots[-1][1]))
    return knots


def pooled(traces):
    """All rates, and weights that give every trace the same."""
    return np.concatenate(traces), np.concatenate([np.full(len(t), 1 / len(t) / len(traces)) for t in traces])


def differences(traces):
    """The mean difference between rates LAGS apart, and the root mean square of the 1-s jumps."""
    apart = [np.mean([np.abs(t[k:] - t[:-k]).mean() for t in traces if len(t) > 2 * k]) for k in LAGS]
    return np.append(apart, np.sqrt(np.mean([((t[1:] - t[:-1]) ** 2).mean() for t in traces])))


def differences_by_correlation(knots, correlations):
    """Mean and mean squared difference of two rates whose normal deviates have each of these correlations."""
    shares, mbit = np.array(knots).T
    cdf = np.vectorize(NormalDist().cdf)
    grid = np.linspace(-8, 8, 20001)
    below = cdf(grid)
    rate = lambda deviate: np.interp(np.interp(deviate, grid, below), shares, mbit)
    first, second = np.random.default_rng(1).standard_normal((2, 100_000))
    found = [rate(first) - rate(c * first + np.sqrt(1 - c * c) * second) for c in correlations]
    return np.array([np.abs(f).mean() for f in found]), np.array([(f**2).mean() for f in found])


def model_differences(table, place, drift, drift_s, step_s):
    """What `differences` finds in the model: the step is either still held or drawn anew."""
    correlations, mean, square = table
    hold = (1 - 1 / step_s) ** LAGS
    held = 1 - drift * (1 - np.exp(-LAGS / drift_s))
    moved = held - (1 - place - drift)
    value = lambda column: hold * np.interp(held, correlations, column) + (1 - hold) * np.interp(moved, correlations, column)
    return np.append(value(mean), np.sqrt(value(square)[0]))


def fit_levels(wanted, knots):
    """Least squares of the relative errors over a grid. The 1-s jumps, mean and root mean square, count four times."""
    correlations = np.concatenate([np.linspace(0, 0.95, 20), np.linspace(0.955, 1, 19)])
    table = (correlations, *differences_by_correlation(knots, correlations))
    importance = np.where(LAGS == 1, 4.0, 1.0)
    importance = np.append(importance, 4.0)
    best = None
    for place in np.arange(0, 0.71, 0.05):
        for drift in np.arange(0, 1 - place + 1e-9, 0.025):
            for drift_s in [6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100]:
                for step_s in [1, 1.25, 1.5, 2, 2.5, 3, 4, 6, 8, 10]:
                    found = model_differences(table, place, drift, drift_s, step_s)
                    error = (importance * (found / wanted - 1) ** 2).sum()
                    if best is None or error < best[0]:
                        best = (error, (place, drift, drift_s, step_s), found)
    return best


def burst_statistics(slots):
    """Mean coefficient of variation of 10, 20 and 100-ms rates within a second; share and mean length of silences."""
    found = []
    for seconds in slots:
        relative = seconds / seconds.mean(1, keepdims=True)
        found.append([relative.reshape(len(relative), -1, k).mean(2).std(1).mean() for k in (1, 2, 10)])
        silent = (relative < 0.1).astype(int)
        starts = (np.diff(silent, axis=1, prepend=0) > 0).sum()
        found[-1] += [silent.mean(), silent.sum() / max(starts, 1)]
    return np.mean(found, axis=0)


def burst_model(silent_share, silent_slots, slow, slow_slots, fast, normals, uniforms):
    """The multipliers of the model in synthetic.rs, for the fit alone."""
    level, silent = normals[0, :, 0], uniforms[:, 0] < silent_share
    keep, start = 1 - 1 / silent_slots, silent_share / silent_slots / (1 - silent_share)
    decay = np.exp(-1 / slow_slots)
    out = np.empty_like(uniforms)
    for i in range(SLOTS):
        silent = np.where(silent, uniforms[:, i] < keep, uniforms[:, i] < start)
        level = decay * level + np.sqrt(1 - decay**2) * normals[0, :, i]
        out[:, i] = np.where(silent, 0, np.exp(slow * level + fast * normals[1, :, i]))
    return out[out.sum(1) > 0]


def fit_bursts(wanted):
    """Coordinate search for the five numbers, on the same random draws throughout."""
    rng = np.random.default_rng(1)
    normals, uniforms = rng.standard_normal((2, 2000, SLOTS)), rng.random((2000, SLOTS))
    values = np.array([max(wanted[3] - 0.02, 0.005), wanted[4], 0.3, 8.0, 0.4])
    low, high = np.array([0.001, 1.0, 0.0, 2.0, 0.0]), np.array([0.6, 8.0, 2.0, 20.0, 2.0])
    miss = lambda v: ((burst_statistics([burst_model(*v, normals, uniforms)]) / wanted - 1) ** 2).sum()
    best, scale = miss(values), 0.4
    while scale > 0.01:
        improved = False
        for i in range(len(values)):
            for factor in (1 + scale, 1 / (1 + scale)):
                trial = values.copy()
                trial[i] = np.clip(trial[i] * factor, low[i], high[i])
                if (found := miss(trial)) < best:
                    values, best, improved = trial, found, True
        if not improved:
            scale /= 2
    return values, burst_statistics([burst_model(*values, normals, uniforms)])


def main():
    for name, paths in GROUPS.items():
        loaded = [load(p) for p in paths]
        traces = [rates for rates, _ in loaded]
        knots = quantiles(*pooled(traces))
        wanted = differences(traces)
        _, (place, drift, drift_s, step_s), found = fit_levels(wanted, knots)
        print(f"// {name}: {len(paths)} traces")
        print("rates: &[" + ", ".join(f"({s:.3f}, {m:.4g})" for s, m in knots) + "],")
        print(f"place: {place:.3g}, drift: {drift:.3g}, drift_s: {drift_s}.0, step_s: {step_s},")
        print("// mean difference after", LAGS, "s, then rms 1-s jump:")
        print("//   real ", wanted.round(2))
        print("//   model", found.round(2))
        slots = [s[r >= OUTAGE_MBIT] for p, (r, s) in zip(paths, loaded) if s is not None and p not in REBUILT]
        if slots:
            real = burst_statistics(slots)
            values, found = fit_bursts(real)
            fields = ["silent_share", "silent_slots", "slow", "slow_slots", "fast"]
            print("bursts: " + ", ".join(f"{f}: {v:.3g}" for f, v in zip(fields, values)))
            print("// cv10 cv20 cv100 silent gap: real", real.round(3), "model", found.round(3))
        print()


if __name__ == "__main__":
    main()
