// Asks in two writes of a stream. Prints the milliseconds of each exchange.
import java.net.Socket;

class Streams {
    public static void main(String[] words) throws Exception {
        try (Socket end = new Socket("127.0.0.1", Integer.parseInt(words[0]))) {
            end.setTcpNoDelay(words.length > 1);
            for (int i = 0; i < 20; i++) {
                long began = System.nanoTime();
                end.getOutputStream().write(new byte[40]);
                end.getOutputStream().write(new byte[400]);
                if (end.getInputStream().readNBytes(2).length != 2) System.exit(1);
                System.out.println((System.nanoTime() - began) / 1e6);
            }
        }
    }
}
