"""Draws one real trace of each group next to the synthetic link of the typical seed, as SVG, to standard output.

Usage, from the root of the repository:
    CELLCC_TRACES=/path/to/traces python3 tools/fit-synthetic/figure.py > docs/figures/synthetic-links.svg

The real trace is the one whose mean is closest to the mean of its group, from its beginning.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from traces import GROUPS, REBUILT, load

SECONDS, CLOSE_FROM, CLOSE_SECONDS = 180, 120, 3
WIDTH, HEIGHT, LEFT, TOP, GAP_X, GAP_Y = 420, 110, 58, 44, 62, 50
REAL, SYNTHETIC = "#0072B2", "#D55E00"  # distinguished with every kind of colour vision (Okabe and Ito)


def typical(name):
    loaded = [load(path) for path in GROUPS[name] if path not in REBUILT]
    long = [(rates, slots) for rates, slots in loaded if len(rates) >= SECONDS]
    middle = np.mean([rates.mean() for rates, _ in loaded])
    return min(long, key=lambda trace: abs(trace[0].mean() - middle))


def synthetic(name):
    command = ["cargo", "run", "--quiet", "-p", "cellcc-cli", "--no-default-features", "--features", "as-tested", "--", "trace", "convert", name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "synthetic.mbps"
        subprocess.run([*command, file, "--bin", "10ms"], check=True, stdout=subprocess.DEVNULL)
        rates = np.loadtxt(file)[:, 1]
    slots = rates.reshape(SECONDS, -1)
    return slots.mean(1), slots


def panel(column, row, title, begin, step, values, top, colour):
    left, base = LEFT + column * (WIDTH + GAP_X), TOP + row * (HEIGHT + GAP_Y) + HEIGHT
    x = np.repeat(left + np.arange(len(values) + 1) * WIDTH / len(values), 2)[1:-1]
    y = np.repeat(base - np.asarray(values) / top * HEIGHT, 2)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    end = begin + step * len(values)
    return (
        f'<text x="{left}" y="{base - HEIGHT - 8}" font-weight="600">{title}</text>'
        f'<polygon points="{left},{base} {points} {left + WIDTH},{base}" fill="{colour}" fill-opacity=".15"/>'
        f'<polyline points="{points}" fill="none" stroke="{colour}"/>'
        f'<path d="M{left} {base - HEIGHT}V{base}H{left + WIDTH}" fill="none" stroke="#444"/>'
        f'<text x="{left - 6}" y="{base}" text-anchor="end">0</text>'
        f'<text x="{left - 6}" y="{base - HEIGHT + 9}" text-anchor="end">{top:g}</text>'
        f'<text x="{left - 6}" y="{base - HEIGHT / 2 + 4}" text-anchor="end" fill="#555">Mbit/s</text>'
        f'<text x="{left}" y="{base + 14}">{begin:g} s</text>'
        f'<text x="{left + WIDTH}" y="{base + 14}" text-anchor="end">{end:g} s</text>\n'
    )


def ceiling(*series):
    highest = max(np.max(values) for values in series)
    unit = 10 ** np.floor(np.log10(highest))
    return np.ceil(highest / unit) * unit


def main():
    body = ""
    for row, name in enumerate(GROUPS):
        real, made = typical(name)[0][:SECONDS], synthetic(name)[0]
        top = ceiling(real, made)
        body += panel(0, row, f"{name}: real, 1-s rates", 0, 1, real, top, REAL)
        body += panel(1, row, f"{name}: synthetic, typical seed", 0, 1, made, top, SYNTHETIC)

    name, row = "lte-static", len(GROUPS)
    part = slice(CLOSE_FROM, CLOSE_FROM + CLOSE_SECONDS)
    real, made = typical(name)[1][part].ravel(), synthetic(name)[1][part].ravel()
    top = ceiling(real, made)
    body += panel(0, row, f"{name}: real, 10-ms rates", CLOSE_FROM, 0.01, real, top, REAL)
    body += panel(1, row, f"{name}: synthetic, 10-ms rates", CLOSE_FROM, 0.01, made, top, SYNTHETIC)

    width, height = LEFT + 2 * WIDTH + GAP_X + 16, TOP + (row + 1) * (HEIGHT + GAP_Y)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>Real traces next to synthetic links</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}</svg>'
    )


if __name__ == "__main__":
    main()
