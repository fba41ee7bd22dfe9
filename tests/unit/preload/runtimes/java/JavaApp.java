import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Threads that block at known places; prints what Java says their stacks are. Ends with its input. */
public class JavaApp {
  static class Held {}

  static class WaitedFor {}

  static final Object held = new Held();
  static final Object waitedFor = new WaitedFor();
  static int sink;

  static class Initialized {
    static int value;

    static {
      value = park(1);
    }
  }

  static int park(int value) {
    while (true) {
      LockSupport.park();
    }
  }

  static int innermost(int value) {
    int result = value + 1;

    result += park(result);
    return result;
  }

  static int middle(int value) {
    return 3 * innermost(value);
  }

  static int outermost(int value) {
    int sum = middle(value);
    sum += 1;
    return sum;
  }

  static int recurse(int depth) {
    if (depth == 0) {
      return park(depth);
    }
    return recurse(depth - 1) + 1;
  }

  static int callLambda() {
    int captured = sink;
    Supplier<Integer> supplier =
        () -> {
          return park(captured);
        };
    return supplier.get();
  }

  static int holdMonitor() {
    synchronized (held) {
      return park(3);
    }
  }

  static int enterMonitor() {
    synchronized (held) {
      return 1;
    }
  }

  static int sleepLong() {
    try {
      Thread.sleep(1_000_000);
    } catch (InterruptedException e) {
      return 1;
    }
    return 0;
  }

  static int waitLong() {
    synchronized (waitedFor) {
      try {
        waitedFor.wait();
      } catch (InterruptedException e) {
        return 1;
      }
    }
    return 0;
  }

  static int überschrift() {
    return park(2);
  }

  static final List<Thread> threads = new ArrayList<>();

  static void start(String name, Supplier<Integer> body) {
    Thread thread =
        new Thread(
            () -> {
              sink += body.get();
            },
            name);
    thread.setDaemon(true);
    thread.start();
    threads.add(thread);
  }

  static boolean isBlocked(Thread thread) {
    Thread.State state = thread.getState();
    return state == Thread.State.WAITING
        || state == Thread.State.TIMED_WAITING
        || state == Thread.State.BLOCKED;
  }

  static void waitUntilBlocked() throws InterruptedException {
    for (Thread thread : threads) {
      while (!isBlocked(thread)) {
        Thread.sleep(1);
      }
    }
  }

  static void print(Thread thread) throws IOException {
    StringBuilder text = new StringBuilder("thread\t" + thread.getName() + "\n");
    for (StackTraceElement frame : thread.getStackTrace()) {
      text.append("frame\t").append(frame.getClassName()).append('.').append(frame.getMethodName());
      text.append('\t').append(frame.getFileName() == null ? "" : frame.getFileName());
      text.append('\t').append(Math.max(frame.getLineNumber(), 0)).append('\n');
    }
    System.out.write(text.toString().getBytes("UTF-8"));
  }

  public static void main(String[] arguments) throws Exception {
    start("jv-holder", JavaApp::holdMonitor);
    waitUntilBlocked();
    start("jv-plain", () -> outermost(1));
    start("jv-deep", () -> recurse(300));
    start("jv-lambda", JavaApp::callLambda);
    start("jv-monitor", JavaApp::enterMonitor);
    start("jv-sleep", JavaApp::sleepLong);
    start("jv-wait", JavaApp::waitLong);
    start("jv-class", () -> Initialized.value);
    start("jv-utf8", JavaApp::überschrift);
    waitUntilBlocked();
    for (Thread thread : threads) {
      print(thread);
    }
    System.out.println("ready");
    System.out.flush();
    System.in.read();
  }
}
