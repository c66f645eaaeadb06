package zoo;

import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.Channel;
import io.netty.channel.ServerChannel;

/** The socket that Vert.x listens on; Netty finds this class in META-INF/services. */
public final class ListeningSocket extends ChannelInitializerExtension {

    private static volatile Channel socket;

    /** HttpServer.close() of Vert.x 4 cuts the connections, too: github.com/eclipse-vertx/vert.x/issues/2602. */
    static void close() {
        socket.close().syncUninterruptibly();
    }

    @Override
    public void postInitializeServerListenerChannel(ServerChannel channel) {
        socket = channel;
    }
}
