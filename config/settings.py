"""All settings of Hintbench, read from environment variables with `config.env`.

docs/operator.md lists the variables. Every file that Hintbench writes is below HINTBENCH_VAR.
"""

import os
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dj_database_url
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import SimpleLazyObject

import judge
from config import version
from config.env import (
    Secret,
    env_blobs,
    env_choice,
    env_endpoints,
    env_factors,
    env_flag,
    env_folder,
    env_integer,
    env_list,
    env_networks,
    env_text,
    env_url,
    require_env,
    surplus_secrets,
)
from config.folders import describe_unusable
from config.secret_key import secret_key

# Before NumPy is imported. Processes and their threads already share the cores; more threads inside NumPy wait actively
# for each other, which multiplies the CPU time on a busy machine and saves no wall time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = version.VERSION
try:
    VAR = env_folder("HINTBENCH_VAR", BASE_DIR / "var")
    VAR.mkdir(mode=0o700, parents=True, exist_ok=True)
except OSError as error:
    raise ImproperlyConfigured(describe_unusable(error)) from None
BLOBS = env_blobs("HINTBENCH_BLOBS", VAR / "blobs")
BLOBS_CACHE = VAR / "blobs-cache"
"""The blobs of a bucket that this host has fetched."""
BLOBS_CACHE_BYTES = env_integer("BLOBS_CACHE_MB", 10_240, 16, 1_048_576) * 2**20
JUDGE_CACHE = VAR / "judge"
TEXT_MODEL = VAR / "text_model.npz"
JUDGE_TEMPORARY = VAR / "temporary"
JUDGE_COMPILE_TIME = env_integer("JUDGE_COMPILE_TIME", 10, 1, 600)
JUDGE_TIME_MULTIPLIERS = env_factors("JUDGE_TIME_MULTIPLIERS", judge.LANGUAGES)

REPLAY_SAME_OVERLAP = env_integer("REPLAY_SAME_OVERLAP", 80, 0, 100) / 100
REPLAY_SAME_AGREEMENT = env_integer("REPLAY_SAME_AGREEMENT", 80, 0, 100) / 100
REPLAY_NEAR_OVERLAP = env_integer("REPLAY_NEAR_OVERLAP", 50, 0, 100) / 100

IMPORT_MAXIMUM_UNPACKED = env_integer("IMPORT_UNPACKED_MB", 512, 1, 1_048_576) * 2**20
"""Bytes to which a compressed file of an import may unpack."""
IMPORT_MAXIMUM_ROW = env_integer("IMPORT_ROW_MB", 128, 1, 1_048_576) * 2**20
"""Characters of the longest line of a file of JSON lines."""

DEBUG = env_flag("DEBUG")
# Lazy, because only the web server and some commands use it: no other process needs it or makes one.
SECRET_KEY = SimpleLazyObject(partial(secret_key, VAR))
HTTPS = env_flag("HTTPS")
TRUSTED_PROXIES = env_networks("TRUSTED_PROXIES", ["127.0.0.1", "::1"] if HTTPS else [])
"""Networks of the proxies whose X-Forwarded-For is trusted. HTTPS needs a proxy, by default on this machine."""
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS] if HTTPS else []

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "config.static_files.StaticFiles",
    "channels",
    "django_rq",
    "django_htmx",
    "csp",
    "axes",
    "config",
    "accounts",
    "judge",
    "benchmark",
    "tutoring",
]

MIDDLEWARE = [
    "config.request_log.request_log",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.null_characters.refuse_null_characters",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "accounts.roles.context",
            ],
        },
    },
]

# Database: SQLite by default, PostgreSQL with DATABASE_URL.

_database_url = env_url(
    "DATABASE_URL", f"sqlite:///{quote(str(VAR))}/hintbench.sqlite3", ("sqlite", "postgres", "postgresql")
)
try:
    DATABASES: dict[str, Any] = {"default": dict(dj_database_url.parse(_database_url))}
except ValueError:
    raise ImproperlyConfigured("DATABASE_URL is not a valid URL of a database.") from None
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE takes the write lock at the start of a transaction, so no other process can write between a check
    # and the write that depends on it. WAL lets readers continue during a write.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # PostgreSQL compiles a long query with JIT, which takes longer than any query of a page.
    # Its default costs of random reads are those of spinning disks, with which it reads tables instead of indexes.
    _options = DATABASES["default"].setdefault("OPTIONS", {})
    _options["options"] = f"-c jit=off -c random_page_cost=1.1 {_options.get('options', '')}".strip()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Queue server (Redis or Valkey): job queues and notifications of live pages. The database is authoritative.

REDIS_URL = env_url("REDIS_URL", f"unix://{quote(str(VAR))}/valkey.sock", ("redis", "rediss", "unix"))
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "hintbench"},
    }
}
RQ_QUEUES = {
    # Judgements that a tutor waits for have priority over benchmark runs.
    # JSON instead of pickle: write access to the queue server must not allow code execution here.
    "tutoring": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": 3600, "SERIALIZER": "json"},
    "default": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": 3600, "SERIALIZER": "json"},
    "models": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": 3600, "SERIALIZER": "json"},
    "background": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": 3600, "SERIALIZER": "json"},
    "rejudging": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": 3600, "SERIALIZER": "json"},
}
RQ_SHOW_ADMIN_LINK = False
# "auto": code that enqueues within a transaction waits for its commit itself, and handles a queue server that is down.
RQ = {"JOB_CLASS": "benchmark.worker.jobs.ListedJob", "COMMIT_MODE": "auto"}
WORKER_JOBS: dict[str, tuple[type, ...]] = {
    # Allowed job functions with the types of their arguments. Workers reject all other jobs.
    "benchmark.judging.perform": (int,),
    "benchmark.judging.work_on_rejudging": (int,),
    "benchmark.growth.perform_curve": (int,),
    "benchmark.runner.distribution.work_on_run": (str,),
    "benchmark.runner.program_operations.perform": (int,),
    "benchmark.worker.reports.store_run_report": (str,),
    "benchmark.worker.reports.store_similarity_figures": (str,),
    "tutoring.review.text_model_jobs.perform_training": (int,),
    "tutoring.sweeps.store_figures": (str, int),
}
MODEL_WORKER_JOBS = frozenset({"benchmark.runner.distribution.work_on_run"})
"""The jobs that call models. Model workers run these only, and judge workers run all others."""
CALIBRATION_MODULES = [
    # Modules above benchmark that register calibrations when they are imported.
    "benchmark.growth.calibration",
    "tutoring.automatic_tutors.calibration",
    "tutoring.effort.calibration",
    "tutoring.ladder.calibration",
    "tutoring.studies.calibration",
    "tutoring.replay.calibration",
]

METHOD_MODULES = [
    # Modules that register methods of run_baseline; `benchmark.methods` imports them when it is imported.
    "tutoring.arms.methods",
]
WORKER_SWEEPS = [
    # Functions that find work whose job, worker or notification was lost. Workers call them one after the other every
    # few seconds. None may take long, because it delays the next search.
    "benchmark.judging.requeue_lost",
    "benchmark.judging.requeue_rejudgings",
    "benchmark.growth.requeue_lost_curves",
    "benchmark.runner.distribution.requeue_stalled",
    "benchmark.worker.reports.enqueue_missing_reports",
    "tutoring.review.text_model_requests.requeue_lost_trainings",
    "tutoring.sweeps.record_missed_verdicts",
    "tutoring.sweeps.advance_studies",
    "tutoring.sweeps.check_automatic_sessions",
    "tutoring.sweeps.enqueue_stale_figures",
    "tutoring.sweeps.apply_retention",
    "tutoring.effort.projection.project_efforts",
    "tutoring.arms.figures.chains.store_chains",
]
MODEL_WORKER_SWEEPS = frozenset(
    {
        "benchmark.runner.distribution.requeue_stalled",
        "tutoring.sweeps.advance_studies",
        "tutoring.sweeps.check_automatic_sessions",
    }
)
"""The sweeps of model workers. Judge workers call all others."""

# Model providers. Only the streamer, model workers and commands use the keys; nothing displays them.

NOT_FOR_JUDGE_WORKERS = surplus_secrets(os.environ, Secret.STORES)
"""The names of the variables of this process with secrets that a judge worker does not need."""
OPENAI_API_KEY = env_text("OPENAI_API_KEY")
OPENAI_BASE_URL = env_url("OPENAI_BASE_URL", "", ("http", "https"))
ANTHROPIC_API_KEY = env_text("ANTHROPIC_API_KEY")
ANTHROPIC_BASE_URL = env_url("ANTHROPIC_BASE_URL", "", ("http", "https"))
COMPATIBLE_API_KEY = env_text("COMPATIBLE_API_KEY")
COMPATIBLE_BASE_URL = env_url("COMPATIBLE_BASE_URL", "", ("http", "https"))
MODEL_ENDPOINTS = env_endpoints("MODEL_ENDPOINT_")
PROVIDER_TIMEOUT = env_integer("PROVIDER_TIMEOUT", 600, 1, 86_400)
REPLY_TIMEOUT = env_integer("REPLY_TIMEOUT", 180, 1, 86_400)
"""Seconds without new text after which the reply to a tutor fails, all repeated calls together."""
PRACTICE_WORD_DELAY = env_integer("PRACTICE_WORD_DELAY_MS", 12, 0, 10_000) / 1000
SIMULATED_WORLDS = env_text("SIMULATED_WORLDS")
TUTORING_MODEL = env_text("TUTORING_MODEL", "practice:student")
RETENTION_DAYS = env_integer("RETENTION_DAYS", 0, 0, 36_500)
"""Days after their end for which sessions are kept; 0: for ever."""
REVIEW_FINDINGS_FIRST = env_flag("REVIEW_FINDINGS_FIRST")

# Pages, accounts and security

LANGUAGE_CODE = "en"
USE_I18N = False  # every text is English
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.static_files.HashedStaticFiles"},
}
# Names with a hash never change their content, so browsers keep them. With DEBUG, files are served from `static/`.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
SESSION_ENGINE = "accounts.sessions"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # refuses a login that accounts.throttling limits
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = ["accounts.hashing.BoundedPBKDF2PasswordHasher"]
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600
"""Seconds for which a set-password link works."""
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AXES_SENSITIVE_PARAMETERS = ["code", "state", "nonce", "code_verifier"]
AXES_HANDLER = "accounts.throttling.LoginThrottle"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=5)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "accounts.addresses.client_address"
AXES_LOCKOUT_CALLABLE = "accounts.throttling.locked_out"
AXES_DISABLE_ACCESS_LOG = True  # successful logins are not recorded
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# Single sign-on by OpenID Connect, if OIDC_CLIENT_ID is set (accounts.single_sign_on).
OIDC_RP_CLIENT_ID = env_text("OIDC_CLIENT_ID")
OIDC_RP_CLIENT_SECRET = env_text("OIDC_CLIENT_SECRET")
OIDC_ISSUER = env_text("OIDC_ISSUER")
OIDC_OP_AUTHORIZATION_ENDPOINT = env_url("OIDC_AUTHORIZATION_URL", "", ("https", "http"))
OIDC_OP_TOKEN_ENDPOINT = env_url("OIDC_TOKEN_URL", "", ("https", "http"))
OIDC_OP_USER_ENDPOINT = env_url("OIDC_USERINFO_URL", "", ("https", "http"))
OIDC_OP_JWKS_ENDPOINT = env_url("OIDC_JWKS_URL", "", ("https", "http"))
OIDC_LOGOUT_URL = env_url("OIDC_LOGOUT_URL", "", ("https", "http"))
OIDC_NAME = env_text("OIDC_NAME", "single sign-on")
OIDC_ACCOUNT_CLAIM = env_text("OIDC_ACCOUNT_CLAIM")
OIDC_ROLE_CLAIM = env_text("OIDC_ROLE_CLAIM")
OIDC_RP_SIGN_ALGO = env_choice("OIDC_SIGN_ALGORITHM", "rs256", ("rs256", "es256")).upper()
OIDC_RP_SCOPES = env_text("OIDC_SCOPES", "openid email profile")
OIDC_USE_PKCE = True
OIDC_TIMEOUT = 10
OIDC_AUTHENTICATION_CALLBACK_URL = "single_sign_on_callback"
if OIDC_RP_CLIENT_ID:
    require_env(
        "OIDC_CLIENT_ID",
        "OIDC_CLIENT_SECRET",
        "OIDC_ISSUER",
        "OIDC_AUTHORIZATION_URL",
        "OIDC_TOKEN_URL",
        "OIDC_USERINFO_URL",
        "OIDC_JWKS_URL",
    )
    AUTHENTICATION_BACKENDS.append("accounts.single_sign_on.SingleSignOn")

X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
        "base-uri": [NONE],
        # Browsers apply this to the redirect to the provider after a logout too.
        "form-action": [SELF, *([OIDC_LOGOUT_URL] if OIDC_LOGOUT_URL else [])],
    }
}
if HTTPS:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = ["^healthz$"]  # health checks arrive without TLS
    SECURE_HSTS_SECONDS = env_integer("HSTS_SECONDS", 31_536_000, 0, 63_072_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = env_flag("HSTS_INCLUDE_SUBDOMAINS", True)
    SECURE_HSTS_PRELOAD = env_flag("HSTS_PRELOAD", True)
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names of this machine that no other machine reaches."""
HOST = env_text("HOST", "127.0.0.1")
PORT = env_integer("PORT", 8000, 1, 65_535)
STREAMERS = env_integer("STREAMERS", 2, 1, 16)
WORKERS = env_integer("WORKERS", max(2, os.cpu_count() or 1), 1, 256)
if HOST not in LOOPBACK and not HTTPS:
    raise ImproperlyConfigured(
        f"HOST={HOST!r} is reachable from other machines. Set HTTPS=1 and use a TLS proxy, or set HOST=127.0.0.1."
    )

METRICS_TOKEN = env_text("METRICS_TOKEN")

LOGGING_CONFIG = "config.logs.configure"
LOG_FORMAT = env_choice("LOG_FORMAT", "text", ("text", "json"))
LOG_LEVEL = env_choice("LOG_LEVEL", "info", ("debug", "info", "warning", "error", "critical"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "config.logs.formatter", "form": LOG_FORMAT}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL.upper()},
    "loggers": {
        # The SDKs and their HTTP libraries log every request at INFO level.
        **{
            name: {"level": "WARNING"}
            for name in ("httpx2", "httpcore2", "openai", "anthropic", "axes", "botocore", "urllib3")
        },
        # Uvicorn has handlers of its own, and Django's request log repeats what `config.request_log` writes.
        **{name: {"handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.error")},
        "uvicorn.access": {"handlers": [], "propagate": False},  # its lines contain queries
        "django.request": {"level": "ERROR"},
        "django.server": {"handlers": [], "propagate": True},
    },
}
