"""The command that makes a release: its parts, and what keeps it from making one."""

import gzip
import hashlib
import importlib.util
import io
import json
import shutil
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
spec = importlib.util.spec_from_file_location("release_try", HERE / "lab" / "release_try.py")
release_try = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release_try)

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


def made(command, **_):
    """Stands for the command of Go, which writes a binary."""
    Path(command[command.index("-o") + 1]).parent.mkdir(parents=True, exist_ok=True)
    Path(command[command.index("-o") + 1]).write_bytes(b"command of " + str(command).encode())
    return ""


def opened(path):
    """The files of a packed archive, with their modes."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            return {i.filename: (packed.read(i), i.external_attr >> 16 & 0o7777) for i in packed.infolist()}
    with tarfile.open(path) as packed:
        return {i.name.rstrip("/"): (packed.extractfile(i).read() if i.isfile() else b"", i.mode) for i in packed}


def test_archives_have_modes(monkeypatch, tmp_path):
    """Everybody may run the command, and nobody but its owner may write it or what lies beside it."""
    monkeypatch.setattr(release, "say", made)
    monkeypatch.setattr(release, "written", lambda *_: {"man/stillpoint.1": (b".TH", 0o644)})
    (tmp_path / "dist").mkdir()
    binaries = release.archives("1.2.0", 1_700_000_000, tmp_path / "work", tmp_path / "dist", release.SYSTEMS)
    packed = sorted((tmp_path / "dist").iterdir())
    assert len(binaries) == len(packed) == len(release.SYSTEMS) == 6
    for path in packed:
        files = opened(path)
        modes = {name: mode for name, (_, mode) in files.items()}
        (command,) = [n for n in files if n.startswith("stillpoint")]
        assert modes.pop(command) == 0o755 and set(modes.values()) == {0o644} and set(modes) == {"man/stillpoint.1", *release.BESIDE}
        system, machine = path.name.removesuffix(".zip").removesuffix(".tar.gz").rsplit("_", 2)[1:]
        assert files[command][0] == binaries[f"{system}/{machine}"].read_bytes() and command.endswith(".exe") == (system == "windows")


def test_the_image_has_a_user_and_modes(monkeypatch, tmp_path):
    """Its processes are nobody's, and may write in two empty folders alone; each blob has the digest by which it is named."""
    binaries = {}
    for machine in ("amd64", "arm64"):
        binaries[f"linux/{machine}"] = tmp_path / machine
        (tmp_path / machine).write_bytes(machine.encode())
    release.image("1.2.0", 1_700_000_000, binaries, tmp_path)
    files = opened(tmp_path / "stillpoint_1.2.0_oci.tar")
    blobs = {n.removeprefix("blobs/sha256/"): data for n, (data, _) in files.items() if n.startswith("blobs/sha256/")}
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in blobs.items()) and len(blobs) == 7
    assert files["blobs"][1] == files["blobs/sha256"][1] == 0o755 and {m for n, (_, m) in files.items() if n.count("/") != 1 and n != "blobs"} == {0o644}

    def blob(of):
        data = blobs[of["digest"].removeprefix("sha256:")]
        assert len(data) == of["size"]
        return data

    (index,) = [json.loads(blob(m)) if "index" in m["mediaType"] else None for m in json.loads(files["index.json"][0])["manifests"]]
    for of in index["manifests"]:
        manifest = json.loads(blob(of))
        config = json.loads(blob(manifest["config"]))
        assert config["config"] == {"Entrypoint": ["/stillpoint"], "User": "65532:65532", "WorkingDir": "/work"}
        assert {k: config[k] for k in ("os", "architecture")} == of["platform"]
        layer = gzip.decompress(blob(manifest["layers"][0]))
        assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
        (tmp_path / "layer.tar").write_bytes(layer)
        held = opened(tmp_path / "layer.tar")
        assert held == {"stillpoint": (of["platform"]["architecture"].encode(), 0o755), "tmp": (b"", 0o1777), "work": (b"", 0o777)}
    text = (HERE / "tools" / "Containerfile").read_text(encoding="utf-8")
    for line in ("mkdir -m 1777 /out/tmp", "mkdir -m 777 /out/work", "USER 65532:65532", 'ENTRYPOINT ["/stillpoint"]'):
        assert line in text


def test_modules_are_verified_before_anything_is_built(monkeypatch, tmp_path):
    """A module whose text is not that of go.sum ends a release, a snapshot too, before a folder is made."""
    said = []

    def say(command, **_):
        said.append(list(map(str, command[:3])))
        if command[:3] == ["go", "mod", "verify"]:
            raise release.Fault("go mod verify: example.org/a has been modified")
        return {"log": "abc 1700000000\n", "status": "", "tag": "v1.2.0\n"}[command[1]]

    monkeypatch.setattr(release, "say", say)
    monkeypatch.setattr(release, "HERE", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    for version in ("1.2.0", None):
        with pytest.raises(release.Fault, match="has been modified"):
            release.make(version, tmp_path / "dist", None)
        assert said[-1] == ["go", "mod", "verify"] and not any("build" in s for s in said) and not (tmp_path / "dist").exists()


def test_a_release_is_tried(monkeypatch, tmp_path):
    """The archive of this system does what the README says; what is missing is skipped by name, and what fails ends it."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    system, machine = release_try.SYSTEM, release_try.MACHINE
    dist = tmp_path / "dist"
    dist.mkdir()
    release.archives("1.2.0", 1_700_000_000, tmp_path / "made", dist, [(system, machine)])
    shutil.copy(HERE / "tools" / "install.sh", dist)
    release.checksums(dist)
    for name in ("archive", "wheel", "image", "script"):
        (tmp_path / name).mkdir()
    if system != "windows":
        assert release_try.script(dist, tmp_path / "script").startswith("install.sh with stillpoint_1.2.0_")
    for name in ("install.sh", "checksums.txt"):
        (dist / name).unlink()
    assert release_try.archive(dist, tmp_path / "archive").startswith("stillpoint_1.2.0_")
    with pytest.raises(release_try.Skipped, match="has 0 files stillpoint_dp-"):
        release_try.wheel(dist, tmp_path / "wheel")
    with pytest.raises(release_try.Skipped):
        release_try.image(dist, tmp_path / "image")
    done = subprocess.run([sys.executable, HERE / "lab" / "release_try.py", tmp_path / "image", "archive"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("skipped  archive: ")
    (name,) = dist.iterdir()
    release.pack(name, {"stillpoint": (b"#!/bin/sh\nexit 3\n", 0o755)}, 1_700_000_000)
    done = subprocess.run([sys.executable, HERE / "lab" / "release_try.py", dist, "archive"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.startswith("failed   archive: ")
    release.pack(name, {"stillpoint": (b"#!/bin/sh\n", 0o644)}, 1_700_000_000)
    with pytest.raises((PermissionError, release_try.Failed)):
        release_try.archive(dist, tmp_path / "image")
