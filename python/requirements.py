"""Prints what the tests of the package need beside the package, from `pyproject.toml`, and what builds it: maturin,
and wheel, which packs what Cargo has built."""

import tomllib
from pathlib import Path

described = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())
project = described["project"]
extras = project["optional-dependencies"]
wanted = [*described["build-system"]["requires"], "wheel>=0.45", *project["dependencies"]]
wanted += [requirement for extra in extras.values() for requirement in extra if not requirement.startswith("cellcc")]
print("\n".join(dict.fromkeys(wanted)))
