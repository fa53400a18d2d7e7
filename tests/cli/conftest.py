from __future__ import annotations

import fake_analysis
import pytest

from gclint.cli import main


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty directory to work in, with the stand-in in place of the analysis."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "of the user"))
    monkeypatch.setattr("gclint.check.engine.judge_for", lambda request: fake_analysis.JUDGE)
    monkeypatch.setattr("gclint.fix.job.judge_for", lambda request: fake_analysis.JUDGE)
    monkeypatch.setattr("gclint.cli.explain._rules", lambda: list(fake_analysis.RULES))
    return tmp_path


@pytest.fixture
def gclint(project, capfd):
    """Run a command line; the exit status, standard output and standard error."""

    def run(*arguments):
        capfd.readouterr()
        status = main(list(arguments))
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run
