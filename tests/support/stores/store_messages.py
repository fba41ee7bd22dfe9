"""Protocol buffers as stores read them, and a profile in pprof's format. For fake_engines.py, a program of its own."""


def fields(data):
    """(number, wire type, value) of one message."""
    at = 0

    def varint():
        nonlocal at
        result = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise ValueError("truncated")
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result & (2**64 - 1)

    while at < len(data):
        key = varint()
        wire = key & 7
        if wire == 0:
            value = varint()
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            if at + size > len(data):
                raise ValueError("truncated")
            value = int.from_bytes(data[at:at + size], "little")
            at += size
        elif wire == 2:
            size = varint()
            if at + size > len(data):
                raise ValueError("truncated")
            value = data[at:at + size]
            at += size
        else:
            raise ValueError("wire type %d" % wire)
        if key >> 3 == 0:
            raise ValueError("field 0")
        yield key >> 3, wire, value


def signed(number):
    return number - 2**64 if number >= 2**63 else number


def message(data, **shape):
    """{name: (number, kind)}; kind: int, bytes, [int] (packed or not), [bytes]."""
    result = {name: [] if isinstance(kind, list) else (0 if kind is int else b"") for name, (_, kind) in shape.items()}
    names = {number: (name, kind) for name, (number, kind) in shape.items()}
    for number, wire, value in fields(data):
        if number not in names:
            continue
        name, kind = names[number]
        if kind == [int]:
            if wire == 2:
                result[name] += [signed(v) for v in unpack(value)]
            else:
                result[name].append(signed(value))
        elif isinstance(kind, list):
            result[name].append(value)
        else:
            result[name] = signed(value) if kind is int else value
    return result


def unpack(data):
    at = 0
    while at < len(data):
        result = shift = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield result & (2**64 - 1)


class Pprof:
    def __init__(self, data):
        top = message(data, types=(1, [bytes]), samples=(2, [bytes]), mappings=(3, [bytes]), locations=(4, [bytes]),
                      functions=(5, [bytes]), strings=(6, [bytes]), time=(9, int), duration=(10, int), period_type=(11, bytes), period=(12, int))
        self.size, self.time, self.duration, self.period = len(data), top["time"], top["duration"], top["period"]
        self.strings = top["strings"]
        value_type = lambda data: message(data, type=(1, int), unit=(2, int))
        self.types = [value_type(t) for t in top["types"]]
        self.period_type = value_type(top["period_type"]) if top["period_type"] else None
        self.samples = []
        for data in top["samples"]:
            sample = message(data, locations=(1, [int]), values=(2, [int]), labels=(3, [bytes]))
            sample["labels"] = [message(l, key=(1, int), str=(2, int), num=(3, int)) for l in sample["labels"]]
            self.samples.append(sample)
        self.mappings = [message(m, id=(1, int), file=(5, int), build_id=(6, int), has_functions=(7, int)) for m in top["mappings"]]
        self.locations = []
        for data in top["locations"]:
            location = message(data, id=(1, int), mapping=(2, int), address=(3, int), lines=(4, [bytes]))
            location["lines"] = [message(l, function=(1, int), line=(2, int)) for l in location["lines"]]
            self.locations.append(location)
        self.functions = [message(f, id=(1, int), name=(2, int), system_name=(3, int), file=(4, int)) for f in top["functions"]]

    def text(self, index):
        return self.strings[index].decode()

    def summary(self):
        names = {f["id"]: self.text(f["name"]) for f in self.functions}
        lines = {l["id"]: [names.get(x["function"], "?") for x in l["lines"]] for l in self.locations}
        result = {}
        for index, kind in enumerate(self.types):
            total, own, cum = 0, {}, {}
            for sample in self.samples:
                value = sample["values"][index]
                if value <= 0:
                    continue  # Pyroscope drops samples with a negative value and those that weigh nothing, and says 200
                stack = [name for l in sample["locations"] for name in lines.get(l, [])]
                if not stack:
                    continue  # unsymbolized: disappears
                total += value
                own[stack[0]] = own.get(stack[0], 0) + value
                for name in set(stack):
                    cum[name] = cum.get(name, 0) + value
            result[self.text(kind["type"]) + "/" + self.text(kind["unit"])] = {"total": total, "self": own, "cum": cum}
        return result

    def series_count(self):
        """How many series the string labels of samples make of it, for each sample type."""
        return len({tuple(sorted((l["key"], l["str"]) for l in s["labels"] if l["str"])) for s in self.samples}) or 1


class Otlp:
    """One profile of an export request, and what its resource says."""

    def __init__(self, resource, profile, tables):
        self.tables = tables
        kind = lambda data: message(data, type=(1, int), unit=(2, int))
        top = message(profile, type=(1, bytes), samples=(2, [bytes]), time=(3, int), duration=(4, int), period_type=(5, bytes),
                      period=(6, int), id=(7, bytes))
        self.type, self.period_type, self.period = kind(top["type"]), kind(top["period_type"]), top["period"]
        self.time, self.duration, self.id = top["time"], top["duration"], top["id"]
        self.samples = [message(data, stack=(1, int), values=(4, [int])) for data in top["samples"]]
        self.labels = {}
        for data in message(resource, attributes=(1, [bytes]))["attributes"]:
            pair = message(data, key=(1, bytes), value=(2, bytes))
            self.labels[pair["key"].decode()] = message(pair["value"], text=(1, bytes))["text"].decode()

    def text(self, index):
        return self.tables["strings"][index].decode()

    def functions_of(self, stack):
        for index in message(self.tables["stacks"][stack], locations=(1, [int]))["locations"]:
            for data in message(self.tables["locations"][index], lines=(3, [bytes]))["lines"]:
                function = message(data, function=(1, int))["function"]
                yield self.text(message(self.tables["functions"][function], name=(1, int))["name"])

    def summary(self):
        """Values times period, as Pyroscope adds them up."""
        total, own, cum = 0, {}, {}
        for sample in self.samples:
            stack, value = list(self.functions_of(sample["stack"])), sum(sample["values"]) * self.period
            if stack:
                total += value
                own[stack[0]] = own.get(stack[0], 0) + value
                for name in set(stack):
                    cum[name] = cum.get(name, 0) + value
        is_cpu = self.text(self.type["type"]) == "samples" and self.text(self.period_type["type"]) == "cpu"
        name = "cpu/nanoseconds" if is_cpu else f"{self.text(self.type['type'])}/{self.text(self.type['unit'])}"
        return {name: {"total": total, "self": own, "cum": cum}}
