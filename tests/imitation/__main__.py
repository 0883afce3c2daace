"""Runs the imitation until it is interrupted; the first line printed is its address as JSON."""

import argparse
import json
import signal

from tests.imitation import Imitation

parser = argparse.ArgumentParser(prog="python -m tests.imitation", description=__doc__)
parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
stops = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, stops)
imitation = Imitation()
imitation.start(parser.parse_args().port)
print(json.dumps({"openai_url": imitation.openai_url, "anthropic_url": imitation.anthropic_url}), flush=True)
signal.sigwait(stops)
