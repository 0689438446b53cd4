"""What a manifest says of files depends on what they hold, not on the order in which they are found."""

import hashlib

from grounding_rewards.tables.fingerprints import fingerprint


def test_several_files_have_one_hash_in_any_order(tmp_path):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file, text in zip(files, ("1", "22"), strict=True):
        file.write_text(text)
    digests = sorted(hashlib.sha256(text).hexdigest() for text in (b"1", b"22"))
    whole = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    said = fingerprint(tmp_path, files)
    assert said == {"path": str(tmp_path), "files": 2, "bytes": 3, "sha256": whole}
    assert fingerprint(tmp_path, files[::-1]) == said
