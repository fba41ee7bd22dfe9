// Virtual threads, one after the other: one has all its frames on the stack, and one continues behind
// a park with its innermost ones only. A third stays parked. Java 11 compiles this as well.
import java.util.concurrent.locks.LockSupport;
public class Virtual {
  static volatile boolean ended;
  static volatile long sink;
  static Thread start(Runnable work) throws Exception {
    return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
  }
  static void burn() {
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < 20_000_000) {
      long sum = 0;
      for (int i = 0; i < 100000; i++) sum += i * i % 7;
      sink += sum;
    }
  }
  static void inner() { burn(); }
  static void middle() { inner(); }
  static void fresh() { middle(); }
  static void continued() { LockSupport.parkNanos(1_000_000); burn(); }
  static void above() { continued(); }
  static void resumed() { above(); }
  static void stays() { LockSupport.park(); }
  public static void main(String[] arguments) throws Exception {
    start(Virtual::stays);
    Thread worker = new Thread(() -> {
      try {
        while (!ended) {
          start(Virtual::fresh).join();
          start(Virtual::resumed).join();
        }
      } catch (Exception e) { throw new RuntimeException(e); }
    });
    worker.start();
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    ended = true;
    worker.join();
  }
}
