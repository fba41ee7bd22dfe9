"""What scripts/emulate_tests leaves out in an emulated aarch64 machine, and why."""

# lo is down in a machine that has only been booted. Source: Linux, include/uapi/linux/{sockios,if}.h: SIOCSIFFLAGS,
# IFF_UP | IFF_RUNNING.
LOOPBACK_UP = """python3 -c '
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))'"""

# Files of tests/integration that are left out.
OTHER_FILES = {
    # Functions are traced, and unwinders compared, on x86-64 only.
    "commands.latency_test", "commands.latency_streams_test", "commands.slower_test", "commands.slower_types_test",
    "commands.trace_test", "guest.tracing_test", "guest.chaos_test", "profile.unwinder_test",
    # Compilers, debuggers, packages of languages, containers and services are not installed in the machine.
    "languages.go_test", "languages.go_callbacks_test", "languages.labels_examples_test", "languages.node_addon_test",
    "languages.php_worlds_test", "languages.python_greenlets_test", "languages.python_worlds_test",
    "languages.r_frames_test", "languages.real_programs_test", "guest.guest_tools_test", "guest.musl_test",
    # These commands do not depend on the machine, and their tests take long.
    "commands.agent_test", "commands.agent_stores_test", "commands.busy_server_test", "commands.deploy_test",
    "commands.http_clients_test", "commands.install_preload_test", "commands.live_command_test", "commands.package_test",
    "commands.roots_test", "commands.store_connections_test", "commands.stores_test", "commands.top_test",
}
UNFIT = ()
UNFIT_UNIT_TESTS = ("Accounting.ALongWaitDoesNotHideWhatComesNext",)  # shares of time between processes
