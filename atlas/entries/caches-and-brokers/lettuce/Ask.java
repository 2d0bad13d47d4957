import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import java.time.Duration;

/** Lettuce: set, or ten gets at once. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        int port = Integer.parseInt(arguments[1]), exchanges = Integer.parseInt(arguments[2]);
        var connection = RedisClient.create("redis://" + address + ":" + port).connect();
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            if (arguments[3].equals("set")) {
                connection.sync().set("k", "x".repeat(400));
            } else {
                var answers = new RedisFuture<?>[10];
                for (int get = 0; get < 10; get++) {
                    answers[get] = connection.async().get("k");
                }
                LettuceFutures.awaitAll(Duration.ofMinutes(1), answers);
            }
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
        System.exit(0);
    }
}
