import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;

/** OkHttp, whose pool keeps the connection. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        int port = Integer.parseInt(arguments[1]), exchanges = Integer.parseInt(arguments[2]);
        var client = new OkHttpClient();
        var request = new Request.Builder().url("http://" + address + ":" + port + "/");
        if (arguments[3].equals("POST")) {
            request.post(RequestBody.create("x".repeat(400).getBytes()));
        }
        var asked = request.build();
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            try (var answer = client.newCall(asked).execute()) {
                answer.body().string();
            }
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
        System.exit(0);
    }
}
