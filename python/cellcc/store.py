"""Results behind an address that fsspec opens, such as `s3://bucket/results`: a local folder is worked in, and copied there."""

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._cellcc import InputError
from .names import inside


class Store:
    """The copy of a local folder at an address. A file is there whole, or not at all."""

    def __init__(self, address: str, folder: Path) -> None:
        try:
            from fsspec.core import url_to_fs

            self._files: Any
            self._files, self._root = url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise InputError(f"out={address!r}: {error}") from None
        self._folder = folder

    def fetch(self) -> None:
        """Copies the content of the address to the folder."""
        for path in self._files.find(self._root):
            local = inside(self._folder, path.removeprefix(self._root).removeprefix("/"))
            if local.suffix != ".part":
                local.parent.mkdir(parents=True, exist_ok=True)
                self._files.get_file(path, str(local))
        for archive in (self._folder / "shares").glob("*.tar"):
            _unpack(archive, archive.with_suffix(""))
            archive.unlink()

    def keep(self, path: Path) -> None:
        """Copies a file of the folder, or a folder in it as one file."""
        if path.is_file():
            self._put(path, path.relative_to(self._folder))
            return
        with tempfile.TemporaryDirectory(prefix="cellcc-store-") as scratch:
            archive = shutil.make_archive(f"{scratch}/share", "tar", path)
            self._put(Path(archive), path.relative_to(self._folder).with_name(f"{path.name}.tar"))

    def keep_results(self) -> None:
        """Copies the finished folder, and removes its shares from the address."""
        files = [path for path in self._folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
        # Where this is, all is.
        for path in sorted(files, key=lambda path: path.name == "run-info.json"):
            self.keep(path)
        if self._files.exists(f"{self._root}/shares"):
            self._files.rm(f"{self._root}/shares", recursive=True)

    def _put(self, path: Path, to: Path) -> None:
        whole = f"{self._root}/{to.as_posix()}"
        self._files.makedirs(os.path.dirname(whole), exist_ok=True)
        self._files.put_file(str(path), f"{whole}.part")
        self._files.mv(f"{whole}.part", whole)


def _unpack(archive: Path, folder: Path) -> None:
    """Unpacks the files of a share that `keep` has packed. By hand: filters came to `tarfile` with Python 3.11.4."""
    # Not compressed, and without the holes of sparse files: the unpacked files are not larger than the archive.
    try:
        with tarfile.open(archive, "r:") as members:
            for member in members:
                if member.isdir():
                    continue
                content = None if member.issparse() or not member.isfile() else members.extractfile(member)
                if content is None:
                    raise InputError(f"shares/{archive.name}: {member.name!r} is not a file; remove the archive, and its share is run again")
                path = inside(folder, member.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except tarfile.TarError as error:
        raise InputError(f"shares/{archive.name} is damaged ({error}); remove it, and its share is run again") from None


@contextmanager
def working_folder(out: str) -> Iterator[tuple[Path, Store | None]]:
    """The folder to work in: `out` itself, or one that begins with the content of that address, and its store."""
    if "://" not in out:
        yield Path(out), None
        return
    with tempfile.TemporaryDirectory(prefix="cellcc-out-") as folder:
        store = Store(out, Path(folder))
        store.fetch()
        yield Path(folder), store
