// The worker's functions use 70, 20 and 10 % of its CPU time, and say so themselves.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
public class Shares {
  static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
  static final double[] used = new double[3];
  static volatile boolean ended;
  static volatile long sink;
  static void burn(int which, long nanoseconds) {
    long begin = clock.getCurrentThreadCpuTime(), now;
    do {
      long sum = 0;
      for (int i = 0; i < 3000; i++) sum += i * i % 7;
      sink += sum;
      now = clock.getCurrentThreadCpuTime();
    } while (now - begin < nanoseconds);
    used[which] += (now - begin) / 1e9;
  }
  static void seventy() { burn(0, 7_000_000); }
  static void twenty() { burn(1, 2_000_000); }
  static void ten() { burn(2, 1_000_000); }
  static class Worker implements Runnable {
    public void run() {
      while (!ended) { seventy(); twenty(); ten(); }
    }
  }
  public static void main(String[] arguments) throws Exception {
    Thread worker = new Thread(new Worker(), "worker");
    worker.start();
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    ended = true;
    worker.join();
    System.out.println(used[0] + " " + used[1] + " " + used[2]);
  }
}
