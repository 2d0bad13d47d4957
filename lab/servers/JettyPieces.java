import java.io.IOException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.AbstractHandler;

/** Jetty, chunked: ten flushed pieces of 40 bytes. */
public class JettyPieces {
    public static void main(String[] arguments) throws Exception {
        Server server = new Server(Integer.parseInt(arguments[0]));
        byte[] piece = "x".repeat(40).getBytes();
        server.setHandler(new AbstractHandler() {
            @Override
            public void handle(String target, Request base, HttpServletRequest request, HttpServletResponse response)
                    throws IOException {
                response.setStatus(200);
                base.setHandled(true);
                for (int i = 0; i < 10; i++) {
                    response.getOutputStream().write(piece);
                    response.flushBuffer();
                }
            }
        });
        server.start();
        server.join();
    }
}
