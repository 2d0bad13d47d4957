import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;

/** gRPC: a unary call. */
class Server {
    public static void main(String[] arguments) throws Exception {
        var echo = ServerServiceDefinition.builder("atlas.Echo").addMethod(Echo.CALL, ServerCalls.asyncUnaryCall((request, answer) -> {
            answer.onNext(request);
            answer.onCompleted();
        })).build();
        Grpc.newServerBuilderForPort(Integer.parseInt(arguments[0]), InsecureServerCredentials.create()).addService(echo).build().start().awaitTermination();
    }
}
