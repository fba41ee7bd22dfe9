"""What scripts/emulate_tests leaves out in an emulated aarch64 machine, and why."""

# lo is down in a machine that has only been booted. Source: Linux, include/uapi/linux/{sockios,if}.h: SIOCSIFFLAGS,
# IFF_UP | IFF_RUNNING.
LOOPBACK_UP = """python3 -c '
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))'"""

# Files of tests/integration that need what the machine lacks: functions are traced on x86-64 only; compilers, Go,
# debuggers, containers and services are not installed there; commands do not depend on the machine.
OTHER_FILES = {
    "commands.latency_test", "commands.latency_streams_test", "commands.slower_test", "commands.slower_types_test",
    "commands.trace_test", "guest.tracing_test", "guest.chaos_test", "profile.unwinder_test", "languages.go_test",
    "languages.go_callbacks_test", "guest.guest_tools_test", "guest.musl_test", "languages.python_worlds_test",
    "languages.python_greenlets_test", "languages.node_addon_test", "languages.real_programs_test",
    "languages.php_worlds_test", "languages.labels_examples_test", "languages.r_frames_test",
}
UNFIT = ()
UNFIT_UNIT_TESTS = ("Accounting.ALongWaitDoesNotHideWhatComesNext",)  # shares of time between processes
