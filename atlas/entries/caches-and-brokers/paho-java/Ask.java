import org.eclipse.paho.client.mqttv3.MqttClient;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;

/** Paho's blocking client: publish, and wait until it is published. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        int port = Integer.parseInt(arguments[1]), exchanges = Integer.parseInt(arguments[2]);
        var client = new MqttClient("tcp://" + address + ":" + port, "atlas", new MemoryPersistence());
        client.connect();
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            client.publish("t", "x".repeat(400).getBytes(), Integer.parseInt(arguments[3]), false);
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
        System.exit(0);
    }
}
