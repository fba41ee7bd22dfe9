// One thread whose methods use 70, 20 and 10 % of its CPU time. Commands on standard input, an
// answer line each: mark: "<units of work> <CPU ns in seventy> <in twenty> <in ten>"
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Shares {
  static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
  static final long[] used = new long[3];
  static volatile long units;
  static volatile boolean ended;
  static volatile long sink;

  static void spin() {
    long value = 1;
    for (int number = 0; number < 3000; number++) value = value * 31 % 65521 + number;
    sink = value;
  }

  static void chain(int depth) {
    if (depth == 0) spin();
    else chain(depth - 1);
  }

  static void burn(int which, int count) {
    long begin = clock.getCurrentThreadCpuTime();
    for (int i = 0; i < count; i++) {
      chain(8);
      units++;
    }
    used[which] += clock.getCurrentThreadCpuTime() - begin;
  }

  static void seventy() { burn(0, 70); }
  static void twenty() { burn(1, 20); }
  static void ten() { burn(2, 10); }

  static void work() {
    while (!ended) {
      seventy();
      twenty();
      ten();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Thread worker = new Thread(Shares::work, "worker");
    worker.start();
    java.io.BufferedReader input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
    System.out.println("ready");
    while (input.readLine() != null) {
      System.out.println(units + " " + used[0] + " " + used[1] + " " + used[2]);
    }
    ended = true;
    worker.join();
  }
}
