"""XLA's own parser, in a child process: some texts kill it."""

import multiprocessing


def _serve(connection):
    from jaxlib import _hlo

    def roundtrip(text):
        return _hlo.hlo_module_from_text(text).to_string()

    while True:
        text = connection.recv()
        try:
            # Stack frames settle on the second print.
            answer = ("ok", roundtrip(roundtrip(text)))
        except Exception as error:  # what jaxlib raises has no common class
            answer = ("error", str(error))
        connection.send(answer)


class Xla:
    """Answers ("ok", printed text), ("error", message) or ("died", "")."""

    def __init__(self):
        self.context = multiprocessing.get_context("spawn")
        self.process = None

    def _start(self):
        self.connection, remote = self.context.Pipe()
        self.process = self.context.Process(
            target=_serve, args=(remote,), daemon=True
        )
        self.process.start()
        remote.close()

    def parse(self, text, timeout=60):
        if self.process is None:
            self._start()
        try:
            self.connection.send(text)
            if self.connection.poll(timeout):
                return self.connection.recv()
        except (EOFError, OSError):
            pass
        self.close()
        return ("died", "")

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None
