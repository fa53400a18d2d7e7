"""A language client that speaks JSON-RPC over a server's standard input and output."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading


class Client:
    """A running `gclint server`, initialised for the folder `root`."""

    def __init__(self, root, encodings=("utf-16",), python=sys.executable):
        self.process = subprocess.Popen(
            [python, "-m", "gclint", "server"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root,
        )  # fmt: skip
        self.arrived = queue.Queue()
        self.kept = []
        self.number = 0
        threading.Thread(target=self._listen, daemon=True).start()
        capabilities = {
            "general": {"positionEncodings": list(encodings)},
            "textDocument": {"publishDiagnostics": {"relatedInformation": True}},
        }
        given = {"processId": None, "rootUri": root.as_uri(), "capabilities": capabilities}
        self.capabilities = self.ask("initialize", given)["capabilities"]
        self.tell("initialized", {})

    def tell(self, method, params, number=None):
        self._send({"method": method, "params": params, **({"id": number} if number else {})})

    def ask(self, method, params, timeout=60):
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        answer = self.wait(lambda item: item.get("id") == self.number and "method" not in item, timeout)
        assert "error" not in answer, answer
        return answer.get("result")

    def diagnostics(self, uri, timeout=60, version=None):
        """The next diagnostics that arrive for a document, or for a version of it."""

        def wanted(item):
            shown = item.get("method") == "textDocument/publishDiagnostics" and item["params"]["uri"] == uri
            return shown and version in (None, item["params"].get("version"))

        return self.wait(wanted, timeout)["params"]["diagnostics"]

    def wait(self, wanted, timeout=60):
        for item in self.kept:
            if wanted(item):
                self.kept.remove(item)
                return item
        while True:
            item = self.arrived.get(timeout=timeout)
            if wanted(item):
                return item
            self.kept.append(item)

    def open(self, path, text=None, language="python"):
        text = path.read_text() if text is None else text
        item = {"uri": path.as_uri(), "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return path.as_uri()

    def change(self, uri, text, version=2):
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def actions(self, uri, line, character, only=None):
        at = {"line": line, "character": character}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        given = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": context}
        return self.ask("textDocument/codeAction", given)

    def close(self):
        if self.process.poll() is None:
            self.ask("shutdown", None)
            self.tell("exit", None)
            self.process.wait(20)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode

    def _send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _listen(self):
        stream = self.process.stdout
        try:
            while header := stream.readline():
                length = 0
                while header.strip():
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                    header = stream.readline()
                self.arrived.put(json.loads(stream.read(length)))
        except ValueError:
            return


def edited(text, edits):
    """The text after a client has made the edits, positions in UTF-16 units."""
    lines = [*text.splitlines(keepends=True), ""]
    data = [line.encode("utf-16-le") for line in lines]
    starts = [sum(map(len, data[:number])) for number in range(len(data) + 1)]
    whole = b"".join(data)

    def offset(position):
        return starts[min(position["line"], len(starts) - 1)] + 2 * position["character"]

    for edit in sorted(edits, key=lambda item: offset(item["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        whole = whole[:start] + edit["newText"].encode("utf-16-le") + whole[end:]
    return whole.decode("utf-16-le")
