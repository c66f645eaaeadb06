package zoo;

import io.vertx.core.DeploymentOptions;
import io.vertx.mutiny.core.Vertx;
import java.net.InetAddress;
import zoo.shared.Settings;

/** Runs java-vertx with an executor that rejects every request without a message, then prints what stays in flight. */
final class FailingExecutor {

    public static void main(String[] args) throws Exception {
        InetAddress address = InetAddress.getLoopbackAddress();
        Settings settings = new Settings("127.0.0.1", address, Integer.parseInt(args[0]), "virtual", 200, 1_000);
        Vertx vertx = Vertx.vertx();
        vertx.deployVerticleAndAwait(() -> new HttpVerticle(settings, loop -> task -> {
            throw new IllegalStateException();
        }), new DeploymentOptions());
        System.out.println("ready");
        System.in.read();
        vertx.closeAndAwait();  // a response is in flight until its event loop knows it is sent, after the client has it
        System.out.println("in flight: " + HttpVerticle.IN_FLIGHT.get());
        System.exit(0);
    }
}
