"""Flask: each request renders a page of 200 digests; /mark answers with the number of requests so far."""
import hashlib
import itertools

from flask import Flask, render_template_string

PAGE = "<ul>{% for name, digest in rows %}<li>{{ name }}: {{ digest }}</li>{% endfor %}</ul>"
app = Flask(__name__)
served = itertools.count(1)
latest = 0


def rows():
    names = [f"row {number * 7919 % 200}" for number in range(200)]
    return sorted((name, hashlib.sha256(name.encode()).hexdigest()) for name in names)


@app.get("/")
def page():
    global latest
    latest = next(served)
    return render_template_string(PAGE, rows=rows())


@app.get("/mark")
def mark():
    return str(latest)
