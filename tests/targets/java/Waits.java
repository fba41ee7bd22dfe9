// Each thread is blocked in another way, at a line that says so.
import java.net.ServerSocket;
import java.util.concurrent.locks.LockSupport;
public class Waits {
  static class Lock { }
  static class Mail { }
  static final Object held = new Lock();
  static final Object notified = new Mail();
  interface Wait { void run() throws Exception; }
  static void sleeps() throws Exception { Thread.sleep(1_000_000); }          // wait
  static void parks() { LockSupport.park(); }                                 // wait
  static void enters() { synchronized (held) { System.nanoTime(); } }         // wait
  static void awaits() throws Exception { synchronized (notified) {
    notified.wait(); } }                                                      // wait
  static void accepts() throws Exception { new ServerSocket(0).accept(); }    // wait
  static void fall(int n) throws Exception {
    if (n == 0) Thread.sleep(1_000_000);                                      // wait
    else fall(n - 1);
  }
  static void start(String name, Wait wait) {
    Thread thread = new Thread(() -> {
      try { wait.run(); } catch (Exception e) { throw new RuntimeException(e); }
    }, name);
    thread.setDaemon(true);
    thread.start();
  }
  public static void main(String[] arguments) throws Exception {
    synchronized (held) {
      start("sleeps", Waits::sleeps);
      start("parks", Waits::parks);
      start("enters", Waits::enters);
      start("awaits", Waits::awaits);
      start("accepts", Waits::accepts);
      start("falls", () -> fall(300));
      System.out.println("ready");
      while (System.in.read() >= 0) { }
    }
  }
}
