"""The notebook runs from top to bottom in a kernel of its own, with progress and tables."""

import json
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

QUICKSTART = Path(__file__).resolve().parent.parent / "quickstart.ipynb"


def test_quickstart(tmp_path, monkeypatch):
    monkeypatch.setenv("STILLPOINT_QUICKSTART", str(tmp_path / "fits"))
    notebook = nbformat.read(QUICKSTART, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # kept without what a run shows
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(QUICKSTART.parent)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [o for o in shown if o["output_type"] == "error"]
    texts = [json.dumps(o.get("data", {}).get("text/plain", "")) for o in shown]
    assert any("noisy gradient norm" in t or " steps" in t for t in texts), texts  # the fit's progress
    tables = [o["data"]["text/html"] for o in shown if "text/html" in o.get("data", {})]
    assert any("Private classification" in t and "hours_per_week" in t for t in tables)
    assert any("share" in t and "noise" in t for t in tables)
    assert (tmp_path / "fits" / "fit-0001" / "certificate.json").is_file()
