"""The quick-start notebook and the lines of the READMEs run."""

import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def test_notebook(tmp_path, monkeypatch):
    pytest.importorskip("sklearn", "1.6")
    pytest.importorskip("pandas")
    cells = json.loads((HERE.parent / "quickstart.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    assert len(code) >= 4
    monkeypatch.chdir(HERE.parent)
    monkeypatch.setenv("STILLPOINT_QUICKSTART", str(tmp_path))
    space: dict = {"__name__": "__main__"}
    for cell in code:
        exec(compile(cell, "quickstart.ipynb", "exec"), space)
    assert space["model"].score(space["test"], space["test"]["income"].astype(str)) > 0.8


def test_readme(tmp_path, monkeypatch):
    pytest.importorskip("sklearn", "1.6")
    monkeypatch.chdir(tmp_path)
    for page in (HERE.parent / "README.md", HERE.parent.parent / "README.md"):
        blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
        assert blocks
        for block in blocks:
            compile(block, page.name, "exec")
