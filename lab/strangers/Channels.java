// Asks in two writes of a channel. Prints the milliseconds of each exchange.
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

class Channels {
    public static void main(String[] words) throws Exception {
        try (SocketChannel end = SocketChannel.open(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])))) {
            end.setOption(StandardSocketOptions.TCP_NODELAY, words.length > 1);
            for (int i = 0; i < 20; i++) {
                long began = System.nanoTime();
                end.write(ByteBuffer.allocate(40));
                end.write(ByteBuffer.allocate(400));
                ByteBuffer answer = ByteBuffer.allocate(2);
                while (answer.hasRemaining()) if (end.read(answer) < 0) System.exit(1);
                System.out.println((System.nanoTime() - began) / 1e6);
            }
        }
    }
}
