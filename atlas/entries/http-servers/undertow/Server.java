import io.undertow.Undertow;
import io.undertow.server.handlers.BlockingHandler;
import io.undertow.util.Headers;
import java.nio.charset.StandardCharsets;

/** The documentation's server: an answer by its sender, or four writes to a stream, each flushed. */
class Server {
    public static void main(String[] arguments) {
        var pieces = new BlockingHandler(exchange -> {
            for (int piece = 0; piece < 4; piece++) {
                exchange.getOutputStream().write("x".repeat(100).getBytes(StandardCharsets.US_ASCII));
                exchange.getOutputStream().flush();
            }
        });
        Undertow.builder().addHttpListener(Integer.parseInt(arguments[0]), "0.0.0.0").setHandler(exchange -> {
            exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
            if (exchange.getRequestPath().equals("/whole")) {
                exchange.getResponseSender().send("x".repeat(400));
            } else {
                pieces.handleRequest(exchange);
            }
        }).build().start();
    }
}
