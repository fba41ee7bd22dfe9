"""A stand-in of the stores that profiles are pushed to, in a process of its own."""

import base64
import gzip
import json
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

FAKE = pathlib.Path(__file__).with_name("fake_engines.py")
CASES = pathlib.Path(__file__).with_name("engine_cases.py")


class Engines:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-B", str(FAKE)], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.address = self.url.removeprefix("http://")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def _request(self, path, body=None, headers=None):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def received(self):
        return json.loads(self._request("/_received")[1])

    def fault(self, **how):
        self._request("/_fault", how)

    def limit(self, **how):
        self._request("/_limit", how)

    def push_pyroscope(self, profile, **labels):
        """Status and answer."""
        return self._request("/push.v1.PusherService/Push", {"series": [{
            "labels": _pairs(labels), "samples": [{"rawProfile": base64.b64encode(profile).decode()}]}]})

    def push_studio(self, col, service="test", gpid=""):
        """Status and answer."""
        body = gzip.compress(json.dumps({"start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:00:15",
                                         "hostname": "h", "profile": col, "gpid": gpid}).encode())
        return self._request("/api/v2/profiles", body, {"GPROFILER-API-KEY": "k", "GPROFILER-SERVICE-NAME": service,
                                                        "Content-Encoding": "gzip"})

    def push_parca(self, profile, **labels):
        return self._request("/api/profiles/writeraw", {"normalized": False, "series": [{
            "labels": {"labels": _pairs(labels)}, "samples": [{"rawProfile": base64.b64encode(profile).decode()}]}]})


def _pairs(labels):
    labels = {"__name__": "process_cpu", "service_name": "test", **labels}
    return [{"name": name, "value": value} for name, value in labels.items()]
