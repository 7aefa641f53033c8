"""The example notebooks run from their first cell to their last, and are kept with what they show.

``CELLCC_WRITE_DOCS=1`` keeps what they show now. Without ``CELLCC_TRACES`` that is the same for everybody.
"""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
LARGEST_HTML = 100_000
"""Letters; the report in a frame has more, and its table is next to it as text."""
LARGEST_NOTEBOOK = 500_000


def outputs(book):
    return [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]


def has_picture(book):
    return any("image/png" in output.get("data", {}) for output in outputs(book))


def keep(book, path):
    """Writes the notebook with its outputs, without what is large, and without the streams, which have times and paths of this machine."""
    for cell in book.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
    for output in outputs(book):
        if len(output.data.get("text/html", "")) > LARGEST_HTML:
            del output.data["text/html"]
    book.metadata.language_info = {"name": "python"}
    nbformat.write(book, path)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")
def test_it_runs(notebook, tmp_path):
    book = nbformat.read(notebook, as_version=4)
    (tmp_path / "training").symlink_to(NOTEBOOKS[0].parents[1] / "training")
    (folder := tmp_path / "notebooks").mkdir()
    NotebookClient(book, timeout=120, resources={"metadata": {"path": folder}}).execute()
    assert has_picture(book)
    if os.environ.get("CELLCC_WRITE_DOCS"):
        keep(book, notebook)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_with_its_outputs(notebook):
    text = notebook.read_text()
    assert has_picture(nbformat.reads(text, as_version=4))
    assert len(text) < LARGEST_NOTEBOOK
    assert not re.search(r"/(home|root|tmp|var|work)/", text), "a path of a machine"
