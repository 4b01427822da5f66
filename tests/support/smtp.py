"""A mail server in this process, on a free port, that refuses some addresses for good."""

import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


class MailServer(socketserver.ThreadingTCPServer):
    """Speaks as much SMTP as a client needs, and keeps who got an e-mail."""

    daemon_threads = True

    def __init__(self, refused: set[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.refused = refused
        self.delivered: list[str] = []


class _Conversation(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 mail.example.org")
        recipients: list[str] = []
        while line := self.rfile.readline().decode().strip():
            command = line.partition(":")[0].upper()
            if command == "RCPT TO":
                address = line.partition("<")[2].partition(">")[0]
                if address in self.server.refused:
                    self._say("550 5.1.1 No such mailbox")
                    continue
                recipients.append(address)
            if command == "DATA":
                self._say("354 Go on")
                while self.rfile.readline().rstrip(b"\r\n") != b".":
                    pass
                self.server.delivered += recipients
                recipients = []
            if command == "RSET":
                recipients = []
            self._say("221 Bye" if command == "QUIT" else "250 OK")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def mail_server(*refused: str) -> Iterator[MailServer]:
    """Run a mail server that refuses these addresses."""
    with MailServer(set(refused)) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
