"""Run the fake providers until SIGINT or SIGTERM; the first line of output is their addresses as JSON."""

import argparse
import json
import signal

from tests.fake_providers import FakeProviders

parser = argparse.ArgumentParser(prog="python -m tests.fake_providers", description=__doc__)
parser.add_argument("--port", type=int, default=0, help="0 (the default) selects a free port")
stops = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, stops)
fake_providers = FakeProviders()
fake_providers.start(parser.parse_args().port)
print(
    json.dumps({"openai_url": fake_providers.openai_url, "anthropic_url": fake_providers.anthropic_url}),
    flush=True,
)
signal.sigwait(stops)
