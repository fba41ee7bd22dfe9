#!/usr/bin/env python3
"""Strict stand-ins for the push APIs of Pyroscope 2, Parca 0.27, gProfiler Performance Studio and OTLP profiles.

  python3 tests/support/stores/fake_engines.py [PORT]          loopback; prints "listening on http://127.0.0.1:PORT" when ready

They accept and refuse what the real servers accept and refuse (engine_cases.py is the same table for both).
  GET  /_received                 all that was accepted: [{api, labels, types: {"cpu/nanoseconds": {total, self: {function: n}}}, ...}]
  POST /_fault {"path": "/push", "status": 429, "times": 3, "delay_ms": 0, "headers": {"Retry-After": "1"}, "body": "…"}
      "together": 4: each waits until four are here; 400 if they do not come within 10 s
      "clear": true: forgets all of them
      "cut": true: stores the profile and hangs up without an answer
  POST /_limit {"bytes_per_s": 4194304, "burst": 2097152}      Pyroscope's ingestion rate, off by default
"""
import base64, datetime, gzip, http.server, json, re, sys, threading, time, zlib

from store_messages import Otlp, Pprof, message

RECEIVED, FAULTS, LOCK = [], [], threading.Lock()
ARRIVED = threading.Condition()
LIMIT = {"bytes_per_s": 0, "burst": 0, "level": 0.0, "at": time.time()}


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def gunzip(data, limit=None):
    if data[:2] != b"\x1f\x8b":
        return data
    reader = zlib.decompressobj(31)
    result = reader.decompress(data, limit + 1 if limit else 0)
    if limit and len(result) > limit:
        raise Refused(400, "uncompressed profile payload size exceeds limit of 4.2 MB")
    if not reader.eof:
        raise Refused(400, "unexpected EOF")
    return result


# --- Pyroscope: limits are the defaults of the open-source server ------------------------------
def check_pyroscope_labels(pairs):
    labels = dict(pairs)
    if len(pairs) > 30:
        raise Refused(400, "has %d label names; limit 30" % len(pairs))
    if not labels.get("__name__"):
        raise Refused(400, "invalid metric name")
    if len(labels) != len(pairs):
        raise Refused(400, "has duplicate label name")
    for name, value in pairs:
        if not name or len(name) > 1024 or len(value) > 2048:
            raise Refused(400, "has label name or value too long")


def check_pyroscope_profile(profile):
    if not profile.types:
        raise Refused(400, "empty profile")
    now = time.time_ns()
    if profile.time and not now - 3600 * 10**9 < profile.time < now + 600 * 10**9:
        raise Refused(400, "is outside of ingestion window")
    if len(profile.samples) > 16000:
        raise Refused(400, "exceeds the samples count limit")
    if any(len(s["labels"]) > 100 for s in profile.samples):
        raise Refused(400, "exceeds the sample labels limit")
    if any(l["id"] == 0 for l in profile.locations) or any(f["id"] == 0 for f in profile.functions):
        raise Refused(400, "id is 0")
    if any(len(s["values"]) != len(profile.types) for s in profile.samples):
        raise Refused(400, "sample value length mismatch")
    if not profile.strings or profile.strings[0] != b"":
        raise Refused(400, "string 0 should be empty string")
    for text in profile.strings:
        try:
            text.decode()
        except UnicodeDecodeError:
            raise Refused(400, "invalid utf8 string")
    if any("-" in profile.text(t["type"]) for t in profile.types):
        raise Refused(400, "sample type contains -")


def take_from_limit(size):
    with LOCK:
        if not LIMIT["bytes_per_s"]:
            return
        now = time.time()
        LIMIT["level"] = max(0.0, LIMIT["level"] - (now - LIMIT["at"]) * LIMIT["bytes_per_s"])
        LIMIT["at"] = now
        if LIMIT["level"] + size > LIMIT["burst"]:
            raise Refused(429, "push rate limit exceeded")
        LIMIT["level"] += size


def pyroscope_push(request):
    body = json.loads(request.body)
    refused, accepted, tried = [], [], 0
    for series in body.get("series", []):
        pairs = [(l["name"], l["value"]) for l in series.get("labels", [])]
        if "service_name" not in dict(pairs):
            pairs.append(("service_name", "unknown_service"))
        for sample in series.get("samples", []):
            tried += 1
            try:  # what is right is stored, also where something else in the request is refused
                raw = gunzip(base64.b64decode(sample["rawProfile"], validate=True), 4 * 1024 * 1024)
                try:
                    profile = Pprof(raw)
                except (ValueError, IndexError):
                    raise Refused(500, "proto: Profile: cannot be parsed")
                check_pyroscope_profile(profile)
                take_from_limit(profile.size)
                check_pyroscope_labels(pairs)
                accepted.append(("pyroscope", dict(pairs), profile))
            except Refused as error:
                refused.append(error)
    remember(accepted)
    if not tried:
        raise Refused(400, "no profiles received")
    if refused:
        raise max(refused, key=lambda error: error.status)
    return b"{}"


# --- Parca ------------------------------------------------------------------------------------
def parca_write_raw(request):
    accepted = []
    for series in json.loads(request.body).get("series", []):
        pairs = [(l["name"], l["value"]) for l in series["labels"]["labels"]]
        labels = dict(pairs)
        if len(labels) != len(pairs):
            raise Refused(400, "duplicate label name")
        if not labels.get("__name__"):
            raise Refused(400, "missing __name__ label")
        for sample in series["samples"]:
            try:
                profile = Pprof(gunzip(base64.b64decode(sample["rawProfile"], validate=True)))
            except (ValueError, IndexError):
                raise Refused(400, "failed to parse profile")
            for what, table in (("mapping", profile.mappings), ("function", profile.functions), ("location", profile.locations)):
                if [entry["id"] for entry in table] != list(range(1, len(table) + 1)):
                    raise Refused(400, "invalid profile: %s id is not sequential" % what)
            if profile.strings and profile.strings[0] != b"":
                raise Refused(400, "first item in string table is expected to be empty")
            if not profile.period_type or not profile.duration:
                # the real server says 200, and GET /api/profiles/types fails for everybody from then on
                raise Refused(400, "no period type or no duration")
            accepted.append(("parca", labels, profile))
    remember(accepted)
    return b"{}"


# --- gProfiler Performance Studio -------------------------------------------------------------
STUDIO_FIELDS = {
    "current_time": "time", "spawn_time": "time", "spawn_uptime_ms": int, "private_ip": str, "hostname": str, "cloud_provider": str,
    "processors": int, "memory_capacity_mb": int, "system_name": str, "os_name": str, "os_release": str, "kernel_release": str,
    "kernel_version": str, "hardware_type": str, "pid": int, "mac_address": str, "agent_version": str, "libc_type": str,
    "libc_version": str, "python_version": str, "run_mode": str, "deployment_type": str, "run_arguments": dict}


def studio_profile(request):
    if not request.headers.get("Content-Length"):
        raise Refused(411, "length required")
    if int(request.headers["Content-Length"]) > 4 * 1024 * 1024:
        raise Refused(413, "too large")
    for name in ("GPROFILER-API-KEY", "GPROFILER-SERVICE-NAME"):
        if not request.headers.get(name):
            raise Refused(422, "header " + name)
    data = gzip.decompress(request.body) if request.headers.get("Content-Encoding") == "gzip" else request.body
    body = json.loads(data)
    for name in ("start_time", "profile", "gpid"):
        if body.get(name) is None:
            raise Refused(422, "field " + name)
    datetime.datetime.fromisoformat(body["start_time"].replace("Z", "+00:00"))
    header, *lines = body["profile"].split("\n")
    if header[:1] != "#":
        raise Refused(400, "Failed to parse v2 metadata")
    header = json.loads(header[1:])
    metadata = header["metadata"]
    for name, kind in STUDIO_FIELDS.items():
        value = metadata.get(name)
        if kind == "time":
            datetime.datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        elif not isinstance(value, kind) or isinstance(value, bool):
            raise Refused(400, "metadata.%s: %r" % (name, value))
    if metadata["cloud_provider"].lower() not in ("aws", "gcp", "azure", "unknown"):
        raise Refused(400, "metadata.cloud_provider")
    stacks, containers = {}, {}
    for line in lines:  # as the indexer reads it
        line = line.strip()
        if not line:
            continue
        if line.startswith("#"):
            raise Refused(400, "a second header line")
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        index, container = (int(frames.pop(0)) if header["application_metadata_enabled"] else 0), frames.pop(0)
        if not 0 <= index < len(header["application_metadata"]):
            raise Refused(400, "application_metadata index %d" % index)
        if not frames or any(frame != frame.strip() or not frame for frame in frames) or int(count) <= 0:
            raise Refused(400, "stack line: " + line[:80])
        stacks[";".join(frames)] = stacks.get(";".join(frames), 0) + int(count)
        containers[container] = containers.get(container, 0) + int(count)
    with LOCK:
        RECEIVED.append({"api": "studio", "service": request.headers["GPROFILER-SERVICE-NAME"], "header": header,
                         "stacks": stacks, "containers": containers, "gpid": body["gpid"]})
    return json.dumps({"message": "ok", "gpid": body["gpid"] or "4711"}).encode()


# --- OTLP profiles v1development ---------------------------------------------------------------
def otlp_export(request):
    if request.headers.get("Content-Type") not in ("application/x-protobuf", "application/protobuf"):
        raise Refused(415, "send protobuf: JSON readers disagree about profileId (hex in the collector, base64 in Pyroscope)")
    data = gzip.decompress(request.body) if request.headers.get("Content-Encoding") == "gzip" else request.body
    top = message(data, resources=(1, [bytes]), dictionary=(2, bytes))
    if not top["dictionary"]:
        raise Refused(400, "missing profile metadata dictionary")
    tables = message(top["dictionary"], mappings=(1, [bytes]), locations=(2, [bytes]), functions=(3, [bytes]), links=(4, [bytes]),
                     strings=(5, [bytes]), attributes=(6, [bytes]), stacks=(7, [bytes]))
    for name, table in tables.items():
        if not table or table[0] != b"":
            raise Refused(400, "dictionary.%s: entry 0 has to be the zero value" % name)
    try:
        profiles = [Otlp(message(data, resource=(1, bytes))["resource"], profile, tables)
                    for data in top["resources"] for scope in message(data, scopes=(2, [bytes]))["scopes"]
                    for profile in message(scope, profiles=(2, [bytes]))["profiles"]]
        received = [{"api": "otlp", "labels": one.labels, "types": one.summary(), "time_nanos": one.time, "id": one.id.hex(),
                     "duration_nanos": one.duration, "period": one.period} for one in profiles]
    except (ValueError, IndexError):
        raise Refused(400, "cannot be parsed, or an index is out of its table")
    if any(not one.period or not one.period_type["type"] for one in profiles):
        raise Refused(400, "no period")
    if not profiles or any(len(one.id) != 16 for one in profiles):
        raise Refused(400, "no profile, or no id of 16 bytes")
    with LOCK:
        RECEIVED.extend(received)
    return b""


def remember(accepted):
    with LOCK:
        for api, labels, profile in accepted:
            RECEIVED.append({"api": api, "labels": labels, "types": profile.summary(), "time_nanos": profile.time,
                             "duration_nanos": profile.duration, "period": profile.period, "bytes": profile.size,
                             "period_type": profile.text(profile.period_type["type"]) if profile.period_type else "",
                             "series_per_type": profile.series_count()})


ROUTES = {"/push.v1.PusherService/Push": pyroscope_push, "/api/profiles/writeraw": parca_write_raw,
          "/api/v2/profiles": studio_profile, "/v1development/profiles": otlp_export}


def comes_together(fault):
    """As many requests as it says are here at the same time."""
    with ARRIVED:
        fault["arrived"] = fault.get("arrived", 0) + 1
        ARRIVED.notify_all()
        return ARRIVED.wait_for(lambda: fault["arrived"] >= fault["together"], timeout=10)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b""

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers={}):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/_received":
            with LOCK:
                return self.answer(200, json.dumps(RECEIVED).encode())
        self.answer(*((200, b'"ready"') if path in ("/ready", "/api/v1/health_check") else (404, b"{}")))

    def do_POST(self):
        path = self.path.split("?")[0]
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if path in ("/_fault", "/_limit"):
            told = json.loads(self.body)
            with LOCK:
                if told.get("clear"):
                    FAULTS.clear()
                elif path == "/_fault":
                    FAULTS.append(told)
                else:
                    LIMIT.update(told)
            return self.answer(200, b"{}")
        with LOCK:
            fault = next((f for f in FAULTS if f["times"] > 0 and f.get("path", "") in path), None)
            if fault:
                fault["times"] -= 1
        if fault:
            time.sleep(fault.get("delay_ms", 0) / 1000)
            if "together" in fault and not comes_together(fault):
                return self.answer(400, b'{"message":"alone"}')
            if fault.get("status"):
                body = fault.get("body", '{"code":"unavailable","message":"as told"}').encode()
                return self.answer(fault["status"], body, fault.get("headers", {}))
        try:
            answer = ROUTES[path](self)
            if fault and fault.get("cut"):
                self.close_connection = True
                return
            self.answer(200, answer)
        except ConnectionError:
            pass  # the client has given up
        except Refused as error:
            self.answer(error.status, json.dumps({"code": error.status, "message": str(error)}).encode())
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
            self.answer(404 if path not in ROUTES else 400, json.dumps({"message": repr(error)}).encode())


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    server.daemon_threads = True
    print("listening on http://127.0.0.1:%d" % server.server_port, flush=True)
    server.serve_forever()
