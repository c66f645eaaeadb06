package zoo;

import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_LENGTH;
import static io.netty.handler.codec.http.HttpHeaderNames.TRANSFER_ENCODING;
import static io.netty.handler.codec.http.HttpHeaderValues.CHUNKED;

import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.*;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/** What Vert.x 4 has no way for, by Netty's extension point, which finds this class in META-INF/services. */
public final class Sockets extends ChannelInitializerExtension {

    private static volatile Channel listening;

    /** HttpServer.close() cuts the connections as well: github.com/eclipse-vertx/vert.x/issues/2602. */
    static void stopListening() {
        listening.close().syncUninterruptibly();
    }

    @Override
    public void postInitializeServerListenerChannel(ServerChannel channel) {
        listening = channel;
    }

    @Override
    public void postInitializeServerChildChannel(Channel channel) {
        channel.pipeline().addLast(new ChannelInitializer<>() {  // comes after Vert.x's own
            @Override
            protected void initChannel(Channel ready) {
                ChannelHandlerContext encoder = ready.pipeline().context(HttpResponseEncoder.class);
                ready.pipeline().addAfter(encoder.name(), "one by one", new OneByOne());
            }
        });
    }

    /** Vert.x queues all that a client sends ahead. Here a request waits until the answer before it is sent. */
    private static final class OneByOne extends ChannelDuplexHandler {

        private final Queue<Object> waiting = new ArrayDeque<>();
        private boolean answering;
        private boolean refused;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (refused) {  // may be a request or a body, and Vert.x closes the connection
                ReferenceCountUtil.release(message);
                return;
            }
            if (message instanceof HttpRequest request && isAmbiguous(request.headers())) {
                refused = true;
                request.setDecoderResult(DecoderResult.failure(new IllegalArgumentException("ambiguous framing")));
            }
            if (waiting.isEmpty() && !mustWait(context, message)) {
                pass(context, message);
            } else {
                waiting.add(message);
                context.channel().config().setAutoRead(false);  // the client has to wait as well
            }
        }

        /** Netty 4.1.135 reads a body as chunked whatever other codings there are: fixed in 4.1.138. */
        private static boolean isAmbiguous(HttpHeaders headers) {
            List<String> codings = headers.getAll(TRANSFER_ENCODING);
            return !codings.isEmpty() && (codings.size() > 1 || !CHUNKED.contentEqualsIgnoreCase(codings.getFirst())
                    || headers.contains(CONTENT_LENGTH));
        }

        private boolean mustWait(ChannelHandlerContext context, Object message) {
            return message instanceof HttpRequest && (answering || !context.channel().isWritable());
        }

        private void pass(ChannelHandlerContext context, Object message) {
            answering |= message instanceof HttpRequest;
            context.fireChannelRead(message);
        }

        private void passOn(ChannelHandlerContext context) {
            while (!waiting.isEmpty() && !mustWait(context, waiting.peek())) {
                pass(context, waiting.remove());
            }
            context.channel().config().setAutoRead(waiting.isEmpty());
            context.fireChannelReadComplete();  // then Vert.x flushes its answer
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            context.write(message, promise);
            if (message instanceof LastHttpContent) {
                answering = false;
                if (!waiting.isEmpty()) {
                    context.executor().execute(() -> passOn(context));
                }
            }
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext context) {
            if (!waiting.isEmpty()) {
                passOn(context);
            }
            context.fireChannelWritabilityChanged();
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            waiting.forEach(ReferenceCountUtil::release);
            waiting.clear();
            context.fireChannelInactive();
        }
    }
}
