"""Configuration by environment variables: valid values, and the message for an invalid one."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from config import env
from config.secret_key import secret_key
from tests.cached_fixtures import DATABASE, add_database
from tests.stack import RunProgram


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_a_switch_is_on(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("SWITCH", value)
    assert env.env_flag("SWITCH") is True


@pytest.mark.parametrize("value", ["0", "false", "No", "off", ""])
def test_a_switch_is_off(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("SWITCH", value)
    assert env.env_flag("SWITCH", default=True) is False


def test_an_integer_may_be_either_bound(monkeypatch: pytest.MonkeyPatch):
    for value in ("1", "10"):
        monkeypatch.setenv("NUMBER", value)
        assert env.env_integer("NUMBER", 5, 1, 10) == int(value)


def test_a_blank_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLANK", "  ")
    assert env.env_text("BLANK", "default") == "default"
    assert env.env_integer("BLANK", 5, 1, 10) == 5
    assert env.env_list("BLANK", ["default"]) == ["default"]


def test_a_variable_that_another_one_needs_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OIDC_CLIENT_ID", "a")
    env.require_env("OIDC_CLIENT_ID", "OIDC_CLIENT_ID")
    with pytest.raises(ImproperlyConfigured, match="OIDC_CLIENT_ID is set and OIDC_ISSUER is not: set it"):
        env.require_env("OIDC_CLIENT_ID", "OIDC_CLIENT_ID", "OIDC_ISSUER")


def test_a_process_gets_only_the_secrets_that_it_needs():
    secrets = {
        env.Secret.PROVIDERS: {
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "COMPATIBLE_API_KEY",
            "MODEL_ENDPOINT_LAB_KEY",
        },
        env.Secret.WEB: {"SECRET_KEY", "METRICS_TOKEN", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"},
        env.Secret.STORES: {"DATABASE_URL", "REDIS_URL", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3"},
    }
    others = {"MODEL_ENDPOINT_LAB_URL", "OPENAI_BASE_URL", "PATH"}
    environment = dict.fromkeys(set.union(others, *secrets.values()), "x")
    assert env.environment_with(environment).keys() == others
    assert env.environment_with(environment, *env.Secret).keys() == environment.keys()
    for secret, names in secrets.items():
        assert env.environment_with(environment, secret).keys() == others | names


def test_networks_are_addresses_or_prefixes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NETWORKS", "127.0.0.1, 10.0.0.0/8,::1")
    assert list(map(str, env.env_networks("NETWORKS", []))) == ["127.0.0.1/32", "10.0.0.0/8", "::1/128"]
    assert env.env_networks("OTHERS", []) == []
    monkeypatch.setenv("NETWORKS", "proxy.example.org")
    with pytest.raises(ImproperlyConfigured, match="NETWORKS"):
        env.env_networks("NETWORKS", [])


def test_factors_are_positive_numbers_by_known_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FACTORS", "python=2.5, java=1")
    assert env.env_factors("FACTORS", ("java", "python")) == {"python": 2.5, "java": 1.0}
    assert env.env_factors("OTHERS", ("java",)) == {}
    for wrong in (
        "java",
        "java=",
        "java=0",
        "java=-1",
        "java=inf",
        "java=nan",
        "cobol=2",
        "java=two",
        "java=1,",
    ):
        monkeypatch.setenv("FACTORS", wrong)
        with pytest.raises(ImproperlyConfigured, match="FACTORS"):
            env.env_factors("FACTORS", ("java",))


def test_every_error_names_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    refusals = {
        "perhaps": lambda: env.env_flag("VARIABLE"),
        "1O": lambda: env.env_integer("VARIABLE", 5, 1, 10),
        "11": lambda: env.env_integer("VARIABLE", 5, 1, 10),
        "0": lambda: env.env_integer("VARIABLE", 5, 1, 10),
        "ftp://host": lambda: env.env_url("VARIABLE", "", ("http", "https")),
        "a,,b": lambda: env.env_list("VARIABLE", []),
        str(file): lambda: env.env_folder("VARIABLE", tmp_path),
    }
    for value, read in refusals.items():
        monkeypatch.setenv("VARIABLE", value)
        with pytest.raises(ImproperlyConfigured, match="VARIABLE"):
            read()


def test_the_error_for_a_url_does_not_contain_its_password(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VARIABLE", "mysql://user:s3cret@host/db")
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.env_url("VARIABLE", "", ("postgres",))
    assert "s3cret" not in str(refusal.value)


def test_endpoints_are_read_by_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SERVER_LAB_URL", "http://user:s3cret@gpu-1:8000/v1")
    monkeypatch.setenv("SERVER_LAB_KEY", "sk-lab")
    monkeypatch.setenv("SERVER_MY_2ND_URL", "https://host/v1")
    monkeypatch.setenv("SERVER_BLANK_KEY", " ")
    endpoints = env.env_endpoints("SERVER_")
    assert {name: (one.url, one.key) for name, one in endpoints.items()} == {
        "lab": ("http://user:s3cret@gpu-1:8000/v1", "sk-lab"),
        "my_2nd": ("https://host/v1", ""),
    }
    assert "s3cret" not in repr(endpoints)
    assert "sk-lab" not in repr(endpoints)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SERVER_LAB_KEY", "sk-s3cret", "SERVER_LAB_KEY is set and SERVER_LAB_URL is not"),
        ("SERVER_LAB_URL", "s3cret", "SERVER_LAB_URL has the scheme ''"),
        ("SERVER_LAB_URL", "ftp://s3cret", "SERVER_LAB_URL has the scheme 'ftp'"),
        ("SERVER_LAB_URL", "http://:s3cret@/v1", "SERVER_LAB_URL has no host"),
        ("SERVER_LAB_URL", "http://host:s3cret/v1", "SERVER_LAB_URL is not a valid URL"),
        ("SERVER_LAB_URL", "http://[s3cret", "SERVER_LAB_URL is not a valid URL"),
        ("SERVER_LAB_ADDRESS", "http://s3cret", "SERVER_LAB_ADDRESS is not a variable of an endpoint"),
        ("SERVER_lab_URL", "http://s3cret", "SERVER_lab_URL is not a variable of an endpoint"),
    ],
)
def test_an_invalid_endpoint_is_refused_without_its_value(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.env_endpoints("SERVER_")
    assert str(refusal.value).startswith(message)
    assert "s3cret" not in str(refusal.value)


def test_the_secret_key_is_created_once_and_for_the_owner_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    key = secret_key(tmp_path / "var")
    assert len(key) >= 50
    assert secret_key(tmp_path / "var") == key
    assert (tmp_path / "var").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "var" / "secret_key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "99999"),
        ("WORKERS", "none"),
        ("HTTPS", "maybe"),
        ("DATABASE_URL", "mysql://localhost/x"),
        ("DATABASE_URL", "postgres://ann:a#b@host/x"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "redis://host:none/0"),
        ("HOST", "0.0.0.0"),
        ("LOG_LEVEL", "loud"),
    ],
)
def test_an_invalid_value_stops_the_start_with_one_line_that_names_it(
    run_program: RunProgram, tmp_path: Path, variable: str, value: str
):
    refused = run_program(tmp_path / "var", "-m", "config.supervisor", **{variable: value})
    assert refused.returncode == 2
    assert refused.stdout.startswith(f"Hintbench cannot start: {variable}")
    assert refused.stdout.count("\n") == 1
    assert refused.stderr == ""


@pytest.mark.parametrize("name", ["a#b", "a?b", "a%41"])
def test_the_variable_folder_may_have_any_name(run_program: RunProgram, tmp_path: Path, name: str):
    code = "from django.conf import settings; print(settings.DATABASES['default']['NAME'])"
    shown = run_program(tmp_path / name, "manage.py", "shell", "-v", "0", "-c", code)
    assert shown.stdout.strip() == str(tmp_path / name / "hintbench.sqlite3"), shown.stderr


def test_the_deployment_check_finds_nothing_under_https(run_program: RunProgram, tmp_path: Path):
    checked = run_program(
        tmp_path / "var",
        "manage.py",
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        HTTPS="1",
        HOST="0.0.0.0",
        ALLOWED_HOSTS="tutor.example.org",
        TRUSTED_PROXIES="192.0.2.7",
    )
    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout


def test_the_deployment_check_warns_of_an_unprotected_queue_server(run_program: RunProgram, tmp_path: Path):
    checked = run_program(
        tmp_path / "var",
        "manage.py",
        "check",
        "--deploy",
        HTTPS="1",
        ALLOWED_HOSTS="tutor.example.org",
        REDIS_URL="redis://queue.example.org/0",
    )
    assert "without TLS and a password" in checked.stderr
    assert "rediss://:PASSWORD@HOST:PORT/0" in checked.stderr


def test_prepare_makes_a_new_folder_for_the_owner_only_with_a_given_secret_key(
    run_program: RunProgram, tmp_path: Path
):
    var = tmp_path / "new" / "var"
    database = add_database(tmp_path) / DATABASE  # every table; test_supervisor.py begins without any
    prepared = run_program(
        var, "manage.py", "prepare", SECRET_KEY="k" * 60, DATABASE_URL=f"sqlite:///{database}"
    )
    assert prepared.returncode == 0, prepared.stderr
    assert "Demo logins:" in prepared.stdout
    assert var.stat().st_mode & 0o777 == 0o700
    assert not [path for path in var.iterdir() if path.stat().st_mode & 0o077]


def test_numpy_starts_no_threads(run_program: RunProgram, tmp_path: Path):
    counted = run_program(
        tmp_path / "var", "-c", "import config.settings, numpy, os; print(len(os.listdir('/proc/self/task')))"
    )
    assert (counted.stdout, counted.stderr) == ("1\n", "")


def test_every_change_of_a_model_has_a_migration(run_program: RunProgram, tmp_path: Path):
    checked = run_program(tmp_path / "var", "manage.py", "makemigrations", "--check", "--dry-run")
    assert checked.returncode == 0, checked.stdout


def test_a_request_for_another_host_name_gets_status_400(client: Client):
    client.raise_request_exception = False
    assert client.get("/healthz", headers={"host": "elsewhere.example"}).status_code == 400
