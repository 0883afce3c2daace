"""manage.py."""

import runpy

import pytest

from tests.stack import REPOSITORY


def test_ctrl_c_ends_a_command_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("django.core.management.execute_from_command_line", interrupted)
    with pytest.raises(SystemExit, match="130"):
        runpy.run_path(str(REPOSITORY / "manage.py"), run_name="__main__")
    assert capsys.readouterr().err.strip() == "Interrupted. Stored results are kept."
