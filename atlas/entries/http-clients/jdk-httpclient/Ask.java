import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** java.net.http's client with HTTP/1.1. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        var request = HttpRequest.newBuilder(URI.create("http://" + arguments[0] + ":" + arguments[1] + "/"));
        var asked = arguments[3].equals("POST") ? request.POST(HttpRequest.BodyPublishers.ofString("x".repeat(400))).build() : request.GET().build();
        int exchanges = Integer.parseInt(arguments[2]);
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            client.send(asked, HttpResponse.BodyHandlers.ofString());
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
    }
}
