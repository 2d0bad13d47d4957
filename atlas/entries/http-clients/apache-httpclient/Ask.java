import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.http.io.entity.StringEntity;
import org.apache.hc.core5.http.io.support.ClassicRequestBuilder;

/** Apache HttpClient, whose pool keeps the connection. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        int port = Integer.parseInt(arguments[1]), exchanges = Integer.parseInt(arguments[2]);
        var client = HttpClients.createDefault();
        String url = "http://" + address + ":" + port + "/";
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            var request = ClassicRequestBuilder.create(arguments[3]).setUri(url);
            if (arguments[3].equals("POST")) {
                request.setEntity(new StringEntity("x".repeat(400), ContentType.TEXT_PLAIN));
            }
            client.execute(request.build(), answer -> EntityUtils.toString(answer.getEntity()));
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
        System.exit(0);
    }
}
