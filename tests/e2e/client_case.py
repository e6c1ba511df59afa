"""What tests of unpatched clients share. Import it before the clients: where this Python lacks
them, the program runs itself again with the one that has them (scripts/client-venv)."""

import contextlib
import os
import pathlib
import subprocess
import sys
import unittest

try:
    import openai
except ImportError:
    SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "client-venv"
    PYTHON = subprocess.run([SCRIPT], check=True, capture_output=True, text=True).stdout.strip()
    os.execv(PYTHON, [PYTHON, *sys.argv])

from engine_process import Engine, wait_for


def strict(reply):
    """Nothing of a reply is at odds with the client's declared types, which it checks lazily."""
    type(reply).model_validate(reply.model_dump(exclude_unset=True))
    return reply


class ClientCase(unittest.TestCase):
    """An engine and a client of it for each class; the engine is idle again after each case."""

    flags = ("--max-model-len", "1024", "--max-num-seqs", "16")

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.engine = cls.stack.enter_context(Engine(*cls.flags))
        host, port = cls.engine.address
        cls.url = f"http://{host}:{port}"
        cls.open_client()

    @classmethod
    def open_client(cls):
        cls.client = cls.stack.enter_context(
            openai.OpenAI(base_url=cls.url + "/v1", api_key="none", max_retries=0))
        cls.model = cls.client.models.list().data[0].id

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def tearDown(self):
        wait_for(self.engine.is_idle, 10, "idle engine")
