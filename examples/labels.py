"""A Python program whose thread has labels, if it was started with the preload.

usage: swipr record -o app.swipr -- python3 labels.py && swipr report app.swipr
"""
import contextlib
import ctypes


class Functions(ctypes.Structure):
    """struct swipr_label_functions of swipr.h"""

    SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    BEGIN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    END = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    _fields_ = [("set_label", SET), ("begin_scope", BEGIN), ("end_scope", END)]


try:
    functions = Functions.in_dll(ctypes.CDLL(None), "swipr_labels_1")
except ValueError:
    functions = None  # not started with the preload


@contextlib.contextmanager
def label(key, value):
    """with label("endpoint", "/cart"): …"""
    if functions is None:
        yield
        return
    scope = ctypes.create_string_buffer(128)
    functions.begin_scope(scope, key.encode(), len(key.encode()), value.encode(), len(value.encode()))
    try:
        yield
    finally:
        functions.end_scope(scope)


if __name__ == "__main__":
    for count, value in ((2, "ten"), (4, "twenty"), (14, "seventy")):
        with label("share", value):
            sum(number * number for number in range(count * 1_000_000))
    print("labelled" if functions else "not started with the preload")
