import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** The JDK's own server, chunked: ten flushed pieces of 40 bytes. */
public class Chunks {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(Integer.parseInt(arguments[0])), 0);
        byte[] piece = "x".repeat(40).getBytes();
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            try (var body = exchange.getResponseBody()) {
                for (int i = 0; i < 10; i++) {
                    body.write(piece);
                    body.flush();
                }
            }
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }
}
