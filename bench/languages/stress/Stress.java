// Methods whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
// They are those of the class Made0000, which is loaded again and again with other digits in its names.
// usage: Stress ordinary|hostile. Ends with its input; with code 0 if all calls returned what they should.
import java.io.DataInputStream;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

public class Stress {
  static final int RESULT = leaf(300);
  static final AtomicInteger numbers = new AtomicInteger();
  static volatile boolean ended;
  static volatile Object sink;
  static Object nothing;

  public abstract static class Family {
    public abstract int first();
  }

  public static class Found extends RuntimeException {
    final int value;
    public Found(int value) { this.value = value; }
    public int value() { return value; }
  }

  static class Loader extends ClassLoader {
    Class<?> define(byte[] code) { return defineClass(null, code, 0, code.length); }
  }

  public static int next() { return ThreadLocalRandom.current().nextInt(3); }

  public static int leaf(int count) {
    int value = 1;
    for (int i = 0; i < count; i++) value = value * 31 % 65521 + i;
    return value;
  }

  public static int call(Object family, String name) {
    try {
      return (Integer) family.getClass().getMethod(name).invoke(family);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  public static int handle(Object family, String name) {
    try {
      return (int) MethodHandles.publicLookup().findVirtual(family.getClass(), name, MethodType.methodType(int.class)).invoke(family);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  // A new class: the methods, strings and the file of its code have other digits.
  static Family made(byte[] code) {
    String text = new String(code, StandardCharsets.ISO_8859_1);
    String digits = String.format("%04d", numbers.incrementAndGet() % 10000);
    text = text.replace("Made0000", "Made" + digits).replace("r0000", "r" + digits);
    try {
      return (Family) new Loader().define(text.getBytes(StandardCharsets.ISO_8859_1)).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  static void check(int result) {
    if (result == RESULT) return;
    System.err.println("wrong result " + result);
    System.exit(3);
  }

  static int deep(int depth) { return depth == 0 ? 0 : 1 + deep(depth - 1); }

  static int throwsItself() {
    try {
      return nothing.hashCode();
    } catch (NullPointerException e) {
      return 1;
    }
  }

  static void storm(byte[] code) {
    while (!ended) {
      Family family = made(code);
      // Some of them are only interpreted, some are compiled; each new class makes compiled calls invalid.
      for (int calls = 1 << ThreadLocalRandom.current().nextInt(15); calls > 0 && !ended; calls--) check(family.first());
      deep(ThreadLocalRandom.current().nextInt(300));
      for (int i = 0; i < 1000; i++) throwsItself();
      try {
        if (ThreadLocalRandom.current().nextInt(50) == 0) deep(Integer.MAX_VALUE);
      } catch (StackOverflowError e) {
        sink = e;
      }
    }
  }

  static void collect() {
    while (!ended) {
      Object[] garbage = new Object[2000];
      for (int i = 0; i < garbage.length; i++) garbage[i] = new byte[200];
      sink = garbage;
      if (ThreadLocalRandom.current().nextInt(200) == 0) System.gc();
      if (ThreadLocalRandom.current().nextInt(20) == 0) pause();
    }
  }

  static void pause() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static void threadsComeAndGo(byte[] code) {
    while (!ended) {
      Family family = made(code);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 8; i++) threads.add(new Thread(() -> check(family.first())));
      threads.forEach(Thread::start);
      for (Thread thread : threads) join(thread);
    }
  }

  static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static ExecutorService virtualThreads() {
    try {
      return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException e) {
      return Executors.newFixedThreadPool(2);
    }
  }

  static void tasks(byte[] code) {
    ExecutorService executor = virtualThreads();
    while (!ended) {
      Family family = made(code);
      List<Future<?>> futures = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        futures.add(executor.submit(() -> {
          deep(20);
          pause();
          check(family.first());
        }));
      }
      for (Future<?> future : futures) {
        try {
          future.get();
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      }
    }
    executor.shutdown();
  }

  static void ordinary(Family family) {
    while (!ended) check(family.first());
  }

  public static void main(String[] arguments) throws Exception {
    InputStream file = Stress.class.getResourceAsStream("Made0000.class");
    byte[] code = new byte[file.available()];
    new DataInputStream(file).readFully(code);
    List<Thread> threads = new ArrayList<>();
    if (arguments[0].equals("hostile")) {
      threads.add(new Thread(() -> storm(code)));
      threads.add(new Thread(() -> storm(code)));
      threads.add(new Thread(Stress::collect));
      threads.add(new Thread(() -> threadsComeAndGo(code)));
      threads.add(new Thread(() -> tasks(code)));
    } else {
      Family family = made(code);
      threads.add(new Thread(() -> ordinary(family)));
      threads.add(new Thread(() -> ordinary(family)));
    }
    Thread.setDefaultUncaughtExceptionHandler((thread, e) -> {
      e.printStackTrace();
      System.exit(4);
    });
    threads.forEach(Thread::start);
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    ended = true;
    for (Thread thread : threads) thread.join();
    System.out.println("whole");
  }
}
