import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** The package's first example; /streamed is chunked and flushed four times. */
class Server {
    public static void main(String[] arguments) throws Exception {
        var server = HttpServer.create(new InetSocketAddress(Integer.parseInt(arguments[0])), 0);
        var piece = "x".repeat(100).getBytes();
        server.createContext("/", exchange -> {
            boolean whole = exchange.getRequestURI().getPath().equals("/whole");
            exchange.sendResponseHeaders(200, whole ? 400 : 0);
            try (var body = exchange.getResponseBody()) {
                if (whole) {
                    body.write("x".repeat(400).getBytes());
                } else {
                    for (int number = 0; number < 4; number++) {
                        body.write(piece);
                        body.flush();
                    }
                }
            }
        });
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }
}
