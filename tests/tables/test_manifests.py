"""A file in a manifest's place is read, or is an error; hashes depend on what files hold, not on their order."""

import hashlib

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.manifests import fingerprint, read_manifest


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


def test_several_files_have_one_hash_in_any_order(tmp_path):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file, text in zip(files, ("1", "22"), strict=True):
        file.write_text(text)
    digests = sorted(hashlib.sha256(text).hexdigest() for text in (b"1", b"22"))
    whole = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    said = fingerprint(tmp_path, files)
    assert said == {"path": str(tmp_path), "files": 2, "bytes": 3, "sha256": whole}
    assert fingerprint(tmp_path, files[::-1]) == said
