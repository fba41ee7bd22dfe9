"""Builds the small invalid inputs (canaries) that the gates must reject."""
import os
import subprocess

COMPILER = os.environ.get("CXX", "c++")


def compile_object(folder, name, source, *options):
    """FOLDER/NAME.o from C++ text."""
    path = folder / f"{name}.o"
    subprocess.run([COMPILER, "-std=c++20", "-O1", "-fPIC", *options, "-xc++", "-c", "-", "-o", path],
                   input=source, text=True, check=True)
    return path


def make_archive(folder, name, source, *options):
    path = folder / f"{name}.a"
    subprocess.run(["ar", "rcs", path, compile_object(folder, name, source, *options)], check=True)
    return path


def link_library(folder, name, *inputs):
    path = folder / name
    subprocess.run([COMPILER, "-shared", *inputs, "-o", path], check=True)
    return path
