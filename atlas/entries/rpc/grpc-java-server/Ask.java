import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.stub.ClientCalls;

/** gRPC: a unary call on one channel. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        int port = Integer.parseInt(arguments[1]), exchanges = Integer.parseInt(arguments[2]);
        var channel = Grpc.newChannelBuilderForAddress(address, port, InsecureChannelCredentials.create()).build();
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            ClientCalls.blockingUnaryCall(channel, Echo.CALL, CallOptions.DEFAULT.withWaitForReady(), new byte[400]);
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
        System.exit(0);
    }
}
