import java.net.HttpURLConnection;
import java.net.URI;

/** HttpURLConnection, which keeps its connections. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        var url = URI.create("http://" + arguments[0] + ":" + arguments[1] + "/").toURL();
        int exchanges = Integer.parseInt(arguments[2]);
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            var connection = (HttpURLConnection) url.openConnection();
            if (arguments[3].equals("POST")) {
                connection.setDoOutput(true);
                connection.getOutputStream().write("x".repeat(400).getBytes());
            }
            connection.getInputStream().readAllBytes();
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
    }
}
