import redis.clients.jedis.Jedis;

/** Jedis: set, or a pipeline of ten gets. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        int port = Integer.parseInt(arguments[1]), exchanges = Integer.parseInt(arguments[2]);
        var client = new Jedis(address, port);
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            if (arguments[3].equals("set")) {
                client.set("k", "x".repeat(400));
            } else {
                var pipeline = client.pipelined();
                for (int get = 0; get < 10; get++) {
                    pipeline.get("k");
                }
                pipeline.sync();
            }
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
        System.exit(0);
    }
}
