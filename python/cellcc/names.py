"""Names of files that come from elsewhere: from a bucket, an archive, a worker."""

from pathlib import Path, PurePosixPath

from ._cellcc import InputError


def inside(folder: Path, name: str) -> Path:
    """The path of `name` in the folder. The one who chose the name could otherwise write anywhere on this machine.

    Raises `InputError` for a name that leads out of the folder.
    """
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name
    # A link in the folder leads out as well.
    if leads_out or not (folder / path).resolve().is_relative_to(folder.resolve()):
        raise InputError(f"the name {name!r} leads out of the folder of results; remove it there, or choose another out")
    return folder / path
