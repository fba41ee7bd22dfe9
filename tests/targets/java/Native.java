// Java calls a native library, which calls Java.
public class Native {
  static volatile boolean ended;
  static volatile long sink;
  static native void enter();
  static void back() {
    long sum = 0;
    for (int i = 0; i < 100000; i++) sum += i * i % 7;
    sink += sum;
  }
  static void outer() { while (!ended) enter(); }
  public static void main(String[] arguments) throws Exception {
    System.load(arguments[0]);
    Thread worker = new Thread(Native::outer, "worker");
    worker.start();
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    ended = true;
    worker.join();
  }
}
