"""The command that makes a release: its parts, and what keeps it from making one."""

import gzip
import importlib.util
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent.parent
spec = importlib.util.spec_from_file_location("release", HERE / "tools" / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)

CHANGES = "# Changelog\n\n## Unreleased\n\n- a\n  b\n\n## 1.2.0 (2026-01-02)\n\n- c\n\n## 1.2.0-rc.1\n\n- d\n\n## 1.1.0\n\n"


def test_notes_are_of_the_version():
    assert release.changes(CHANGES, None) == "- a\n  b\n"
    assert release.changes(CHANGES, "1.2.0") == "- c\n"
    assert release.changes(CHANGES, "1.2.0-rc.1") == "- d\n"
    for absent in ("1.1.0", "1.2", "2.0.0"):
        with pytest.raises(release.Fault, match="must have a part"):
            release.changes(CHANGES, absent)
    assert release.changes((HERE / "CHANGELOG.md").read_text(encoding="utf-8"), None)


def test_citation_has_one_version():
    text = (HERE / "CITATION.cff").read_text(encoding="utf-8")
    once = release.citation(text, "1.2.0", "2026-01-02")
    assert once.endswith("\nversion: 1.2.0\ndate-released: 2026-01-02\n") and once.startswith("cff-version: 1.2.0\n")
    assert release.citation(once, "1.3.0", "2026-01-03") == once.replace("version: 1.2.0\nd", "version: 1.3.0\nd").replace("-02\n", "-03\n")


@pytest.mark.parametrize("suffix", [".tar.gz", ".zip"])
def test_archives_have_the_same_bytes(suffix, tmp_path):
    """Whoever packs, whenever, and in whichever order: and each file has its mode."""
    files = {"stillpoint": (b"command", 0o755), "LICENSE": (b"words", 0o644)}
    one, two = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    release.pack(one, files, 1_700_000_000)
    release.pack(two, dict(reversed(files.items())), 1_700_000_000)
    assert one.read_bytes() == two.read_bytes()
    if suffix == ".zip":
        with zipfile.ZipFile(one) as made:
            got = {i.filename: (made.read(i), i.external_attr >> 16 & 0o777) for i in made.infolist()}
    else:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(one.read_bytes()))) as made:
            got = {i.name: (made.extractfile(i).read(), i.mode) for i in made}
            assert {(i.uid, i.uname, i.mtime) for i in made} == {(0, "", 1_700_000_000)}
    assert got == files


LISTED = """x: go1.26.0
\tpath\tgithub.com/stillpoint-dp/stillpoint/cmd/stillpoint
\tmod\tgithub.com/stillpoint-dp/stillpoint\tv1.2.0\t
\tdep\texample.org/a\tv1.0.0\th1:aa=
\tdep\texample.org/b\tv1.0.0\th1:bb=
\t=>\texample.org/c\tv2.0.0\th1:cc=
\tbuild\t-trimpath=true
"""


def test_the_bill_lists_what_is_in_the_binaries(monkeypatch, tmp_path):
    said = {"one": LISTED, "two": LISTED.replace("\tdep\texample.org/a\tv1.0.0\th1:aa=\n", ""), "none": "x: go1.26.0\n"}
    monkeypatch.setattr(release, "say", lambda command: said[command[-1].name])
    bill = release.bill("1.2.0", 1_700_000_000, "go1.26.0", {n: tmp_path / n for n in ("one", "two")})
    parts = {p["name"]: p for p in bill["components"]}
    assert list(parts) == ["example.org/a", "example.org/c", "go"]
    assert [p["value"] for p in parts["example.org/a"]["properties"]] == ["one", "h1:aa="]
    assert [p["value"] for p in parts["example.org/c"]["properties"]] == ["one", "two", "h1:cc="]
    assert parts["example.org/c"]["purl"] == "pkg:golang/example.org/c@v2.0.0" and bill["bomFormat"] == "CycloneDX"
    assert json.dumps(bill) == json.dumps(release.bill("1.2.0", 1_700_000_000, "go1.26.0", {n: tmp_path / n for n in ("one", "two")}))
    with pytest.raises(release.Fault, match="lists no module"):
        release.contents(tmp_path / "none")


def test_checksums_are_of_every_file(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    path = release.checksums(tmp_path)
    assert [line.split("  ")[1] for line in path.read_text().splitlines()] == ["a", "b"]
    assert subprocess.run(["sha256sum", "-c", path.name], cwd=tmp_path, capture_output=True).returncode == 0
    assert release.checksums(tmp_path).read_text() == path.read_text()


def test_no_release_of_anything_but_a_clean_tag(monkeypatch, tmp_path):
    """Changes, a tag that is not there, a version without notes and a folder in use end it before Go runs."""
    facts = {"status": "", "tag": "v1.2.0\n"}

    def say(command, **_):
        if command[0] != "git":
            raise release.Fault("built")
        return {"log": "abc 1700000000\n"}.get(command[1]) or facts[command[1]]

    monkeypatch.setattr(release, "say", say)
    monkeypatch.setattr(release, "HERE", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    for change, why in [({}, "built"), ({"status": " M x\n"}, "has changes"), ({"tag": "v1.2.0-rc.1\n"}, "no tag v1.2.0")]:
        facts.update({"status": "", "tag": "v1.2.0\n", **change})
        with pytest.raises(release.Fault, match=why):
            release.make("1.2.0", tmp_path / "dist", None)
    facts.update(status="", tag="v2.0.0\n")
    with pytest.raises(release.Fault, match="must have a part '## 2.0.0'"):
        release.make("2.0.0", tmp_path / "dist", None)
    for wrong in (["1.2"], ["v1.2.0"], [], ["1.2.0", "--snapshot"]):
        done = subprocess.run([sys.executable, HERE / "tools" / "release.py", *wrong], capture_output=True, text=True)
        assert done.returncode == 2, wrong


def test_the_r_package_has_a_version_to_replace():
    facts = (HERE / "r" / "DESCRIPTION").read_text(encoding="utf-8")
    assert facts.count("\nVersion: ") == 1


def test_a_release_needs_an_address(tmp_path, monkeypatch):
    """A placeholder of an address is refused for a release, before anything is built."""
    (tmp_path / "r").mkdir()
    text = "Package: stillpoint\nVersion: 0.0.0.9000\nAuthors@R: person(email = \"a@b.invalid\")\n"
    (tmp_path / "r" / "DESCRIPTION").write_text(text)
    monkeypatch.setattr(release, "HERE", tmp_path)
    monkeypatch.setattr(release, "say", lambda *_, **__: pytest.fail("something was built"))
    with pytest.raises(release.Fault, match="email"):
        release.r_package("1.2.0", tmp_path / "work", tmp_path)
