"""`cellcc serve --http` and curl, which curl_cffi has with HTTP/3."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from curl_cffi import CurlHttpVersion, requests


@pytest.fixture
def address(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server of the folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    arguments = [program, "serve", "--quiet", "--listen", "127.0.0.1:0", "--http", str(tmp_path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        lines = iter(server.stdout.readline, "")
        line = next(line for line in lines if line.startswith("try: curl "))
        yield line.split()[-1]
        server.terminate()


def get(url: str, method: str = "GET", **header: str) -> requests.Response:
    names = {name.replace("_", "-"): value for name, value in header.items()}
    answer = requests.request(
        method, url, headers=names, verify=False, timeout=30, http_version=CurlHttpVersion.V3ONLY
    )
    assert answer.http_version == CurlHttpVersion.V3
    return answer


def test_curl_gets_files_and_parts_of_them_by_http_3(address: str, tmp_path: Path) -> None:
    content = bytes(range(251)) * 80_000
    (tmp_path / "film.mp4").write_bytes(content)
    (tmp_path / "empty").touch()
    answer = get(address + "film.mp4")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "video/mp4")
    assert answer.content == content
    assert get(address + "empty").content == b""
    part = get(address + "film.mp4", range="bytes=1000000-1999999")
    assert (part.status_code, part.content) == (206, content[1_000_000:2_000_000])
    assert get(address + "film.mp4", range="bytes=30000000-").status_code == 416
    assert get(address + "film.mp4", if_none_match=answer.headers["etag"]).status_code == 304
    head = get(address + "film.mp4", "HEAD")
    assert (head.headers["content-length"], head.content) == (str(len(content)), b"")
    assert get(address + "none").status_code == 404
    assert get(address + "film.mp4", "POST").status_code == 405


def test_of_twenty_curls_at_once_each_has_its_file(address: str, tmp_path: Path) -> None:
    contents = {f"{index}": bytes([index]) * 300_000 for index in range(20)}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    with ThreadPoolExecutor(20) as pool:
        answers = pool.map(lambda name: get(address + name).content, contents)
        assert list(answers) == list(contents.values())
