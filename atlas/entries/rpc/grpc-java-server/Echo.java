import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** A call that needs no generated code: octets in, octets out. */
class Echo {
    static final MethodDescriptor.Marshaller<byte[]> OCTETS = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] octets) {
            return new ByteArrayInputStream(octets);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException why) {
                throw new UncheckedIOException(why);
            }
        }
    };
    static final MethodDescriptor<byte[], byte[]> CALL = MethodDescriptor.newBuilder(OCTETS, OCTETS)
        .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("atlas.Echo/Echo").build();
}
