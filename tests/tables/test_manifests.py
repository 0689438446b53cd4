"""What stands in a manifest's place is read, or said to be none."""

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.manifests import read_manifest


def test_a_manifest(tmp_path):
    path = tmp_path / "m.json"
    path.write_text('{"seed": 7, "outputs": [{"path": "ä"}]}', "utf-8")
    assert read_manifest(path) == {"seed": 7, "outputs": [{"path": "ä"}]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "cannot be read as a manifest (Expecting"),
        (b"[" * 100_000, "cannot be read as a manifest (maximum recursion"),
        (b"\xff\xfe\xff", "cannot be read as a manifest ("),
        (b"[]", "cannot be read as a manifest: got list; expected a JSON object"),
        (None, "is a directory; expected a regular file"),
    ],
)
def test_what_is_no_manifest(tmp_path, content, said):
    path = tmp_path / "m.json"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(TableError) as caught:
        read_manifest(path)
    assert str(caught.value).startswith(f"{path}: {said}")
