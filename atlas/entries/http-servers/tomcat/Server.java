import jakarta.servlet.http.*;
import java.io.IOException;
import org.apache.catalina.startup.Tomcat;

/** An embedded server: a servlet's answer with its length, or four writes, each flushed. */
class Server extends HttpServlet {
    public static void main(String[] arguments) throws Exception {
        var tomcat = new Tomcat();
        tomcat.setBaseDir(arguments[1]);
        tomcat.setPort(Integer.parseInt(arguments[0]));
        tomcat.getConnector();
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "atlas", new Server());
        context.addServletMappingDecoded("/*", "atlas");
        tomcat.start();
        tomcat.getServer().await();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain");
        if (request.getPathInfo().equals("/whole")) {
            response.setContentLength(400);
            response.getWriter().write("x".repeat(400));
            return;
        }
        for (int piece = 0; piece < 4; piece++) {
            response.getWriter().write("x".repeat(100));
            response.flushBuffer();
        }
    }
}
