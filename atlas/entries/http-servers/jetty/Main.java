import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.*;
import org.eclipse.jetty.util.Callback;

/** The guide's server: an answer whole, or four writes that are not the last ones, and the end. */
class Main extends Handler.Abstract {
    public static void main(String[] arguments) throws Exception {
        var server = new Server(Integer.parseInt(arguments[0]));
        server.setHandler(new Main());
        server.start();
        server.join();
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/plain");
        if (request.getHttpURI().getPath().equals("/whole")) {
            Content.Sink.write(response, true, "x".repeat(400), callback);
            return true;
        }
        for (int piece = 0; piece < 4; piece++) {
            Content.Sink.write(response, false, ByteBuffer.wrap("x".repeat(100).getBytes(StandardCharsets.US_ASCII)));
        }
        response.write(true, null, callback);
        return true;
    }
}
