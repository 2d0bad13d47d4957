import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import java.nio.charset.StandardCharsets;

/** The example's server: an answer with its length, or four chunks that are flushed one by one. */
class Server extends SimpleChannelInboundHandler<HttpObject> {
    public static void main(String[] arguments) throws Exception {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
        new ServerBootstrap().group(group).channel(NioServerSocketChannel.class).childHandler(new ChannelInitializer<SocketChannel>() {
            @Override
            protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(new HttpServerCodec(), new Server());
            }
        }).bind(Integer.parseInt(arguments[0])).sync().channel().closeFuture().sync();
    }

    private static io.netty.buffer.ByteBuf octets(int many) {
        return Unpooled.copiedBuffer("x".repeat(many), StandardCharsets.US_ASCII);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        if (!(message instanceof HttpRequest request)) {
            return;
        }
        if (request.uri().equals("/whole")) {
            var answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, octets(400));
            answer.headers().set(HttpHeaderNames.CONTENT_TYPE, "text/plain").setInt(HttpHeaderNames.CONTENT_LENGTH, 400);
            context.writeAndFlush(answer);
            return;
        }
        var head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
        head.headers().set(HttpHeaderNames.CONTENT_TYPE, "text/plain").set(HttpHeaderNames.TRANSFER_ENCODING, "chunked");
        context.writeAndFlush(head);
        for (int piece = 0; piece < 4; piece++) {
            context.writeAndFlush(new DefaultHttpContent(octets(100)));
        }
        context.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
    }
}
