// Classes that are loaded, compiled and unloaded, deep recursion, exceptions, garbage, short threads.
import java.io.DataInputStream;
import java.io.InputStream;
import java.util.*;
public class Storm {
  static volatile Object sink;
  static volatile boolean ended;
  static Object none;
  public static class Part { public int add(int x) { return x + 1; } }
  static class Loader extends ClassLoader {
    Class<?> define(byte[] code) { return defineClass("Storm$Part", code, 0, code.length); }
  }
  static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }
  static int thrown() { try { return none.hashCode(); } catch (NullPointerException e) { return 1; } }
  static void loads(byte[] code) throws Exception {
    Class<?> part = new Loader().define(code);
    Object made = part.getDeclaredConstructor().newInstance();
    for (int i = 0; i < 200; i++) part.getMethod("add", int.class).invoke(made, i);
  }
  static void recurses() {
    for (int i = 0; i < 100; i++) sink = deep(300);
    for (int i = 0; i < 2000; i++) thrown();
  }
  static void allocates() {
    Object[] made = new Object[2000];
    for (int i = 0; i < made.length; i++) made[i] = new byte[200];
    sink = made;
    if (Math.random() < 0.01) System.gc();
  }
  static void starts() throws Exception {
    Thread[] threads = new Thread[8];
    for (int i = 0; i < threads.length; i++) (threads[i] = new Thread(() -> { sink = deep(50); })).start();
    for (Thread thread : threads) thread.join();
  }
  interface Work { void run() throws Exception; }
  public static void main(String[] arguments) throws Exception {
    InputStream file = Storm.class.getResourceAsStream("Storm$Part.class");
    byte[] code = new byte[file.available()];
    new DataInputStream(file).readFully(code);
    List<Thread> threads = new ArrayList<>();
    for (Work work : new Work[] {() -> loads(code), Storm::recurses, Storm::allocates, Storm::starts}) {
      threads.add(new Thread(() -> {
        try { while (!ended) work.run(); } catch (Exception e) { throw new RuntimeException(e); }
      }, "storm"));
    }
    for (Thread thread : threads) thread.start();
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    ended = true;
    for (Thread thread : threads) thread.join();
    System.out.println("whole");
  }
}
