"""stillpoint.fit and the errors it raises."""

import pytest
from conftest import write

import stillpoint
from stillpoint import ConfigurationError, StillpointError


def test_fit(tmp_path):
    config = write(tmp_path, "logistic", 2)
    fit = stillpoint.fit(config, out=tmp_path / "fit", epsilon=2.0, progress=False)
    assert fit.report["epsilon"] == 2 and fit.report["complete"]
    assert fit.model["format"] == "stillpoint model"
    assert fit.verify()["epsilon"] == 2
    (total,) = stillpoint.spent(fit.folder)
    assert total["fits"] == 1


def test_errors_name_the_field(tmp_path):
    config = write(tmp_path, "logistic", 2)
    with pytest.raises(ConfigurationError) as caught:
        stillpoint.fit(config, out=tmp_path / "fit", epsilon=-1.0)
    assert caught.value.field == "epsilon" and caught.value.rule.startswith("must be") and not caught.value.charged
    with pytest.raises(ValueError, match="no such file"):
        stillpoint.fit(tmp_path / "absent.yaml")
    with pytest.raises(StillpointError, match="holds an earlier fit"):
        stillpoint.fit(config, out=tmp_path / "twice")
        stillpoint.fit(config, out=tmp_path / "twice")


def test_version():
    assert stillpoint.version().startswith("stillpoint ")


def test_progress(tmp_path, capsys):
    stillpoint.fit(write(tmp_path, "logistic", 2), out=tmp_path / "fit", progress=True)
    assert "step 20 of 20: noisy gradient norm" in capsys.readouterr().err
