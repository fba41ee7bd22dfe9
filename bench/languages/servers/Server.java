import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/** Each request renders a page of 200 digests; /mark answers with the number of requests so far. */
public final class Server {
  private static final AtomicLong served = new AtomicLong();

  private static Map<String, String> rows() {
    try {
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      Map<String, String> rows = new TreeMap<>();
      for (int number = 0; number < 200; number++) {
        String name = "row " + number * 7919 % 200;
        StringBuilder hex = new StringBuilder();
        for (byte each : sha.digest(name.getBytes(StandardCharsets.UTF_8))) {
          hex.append(Character.forDigit(each >> 4 & 15, 16)).append(Character.forDigit(each & 15, 16));
        }
        rows.put(name, hex.toString());
      }
      return rows;
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }

  private static String page() {
    StringBuilder page = new StringBuilder("<ul>");
    rows().forEach((name, digest) -> page.append("<li>" + name + ": " + digest + "</li>"));
    return page.append("</ul>").toString();
  }

  private static void answer(HttpExchange exchange, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  /** usage: Server PORT */
  public static void main(String[] arguments) throws IOException {
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
    HttpServer server = HttpServer.create(address, 0);
    server.createContext("/", exchange -> {
      served.incrementAndGet();
      answer(exchange, page());
    });
    server.createContext("/mark", exchange -> answer(exchange, String.valueOf(served.get())));
    server.setExecutor(Executors.newFixedThreadPool(3));
    server.start();
  }
}
