"""What the zygote hears of its client."""

from __future__ import annotations

import socket
import threading

from pt2bugs.engine import zygote
from pt2bugs.engine.protocol import send


def test_settings_that_come_late_are_waited_for() -> None:
    ours, theirs = socket.socketpair()
    settings = {"threads": 1, "targets": [], "imports": [], "distributions": []}
    with ours, theirs:
        late = threading.Timer(2 * zygote._POLL_S, send, (ours, settings))
        late.start()
        assert zygote._Requests(theirs).first() == settings
        late.join()
        ours.close()
        assert zygote._Requests(theirs).first() is None
