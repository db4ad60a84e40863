"""Services for child processes of tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.isolation.child_process import ParentChannel

SLEEP = [sys.executable, "-c", "import time; time.sleep(3600)"]


class Unreadable:
    """Can be pickled, and not be read again."""

    def __reduce__(self) -> tuple[type[int], tuple[str]]:
        """Return what fails where it is read."""
        return int, ("not a number",)


def answer(parent: ParentChannel) -> None:
    """Do what messages say."""
    while True:
        try:
            message = parent.receive()
        except EOFError:
            return
        if message == "print":
            os.write(1, b"between messages\n")
            parent.send("printed")
        elif message == "start":
            away = subprocess.Popen(SLEEP, start_new_session=True)
            parent.send(away.pid)
        elif message == "leave":
            sys.stderr.write("good bye\n")
            sys.stderr.flush()
            os._exit(7)
        elif message == "unreadable":
            parent.send(Unreadable())
            time.sleep(3600)
        else:
            parent.send(message)
