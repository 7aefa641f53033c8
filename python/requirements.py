"""Prints what the tests of the package need besides the package, from `pyproject.toml`, and what builds it: maturin,
and wheel, which packs what Cargo has built. With the argument `cluster`, also what tests/cluster needs."""

import sys
import tomllib
from pathlib import Path

described = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())
project = described["project"]
extras = dict(project["optional-dependencies"])
if sys.argv[1:] != ["cluster"]:
    del extras["ray"], extras["test-cluster"]
wanted = [*described["build-system"]["requires"], "wheel>=0.45", *project["dependencies"]]
wanted += [requirement for extra in extras.values() for requirement in extra if not requirement.startswith("cellcc")]
print("\n".join(dict.fromkeys(wanted)))
