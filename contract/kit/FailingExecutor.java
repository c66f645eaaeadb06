package zoo;

import io.vertx.core.DeploymentOptions;
import io.vertx.mutiny.core.Vertx;
import java.util.Map;

/** Runs java-vertx with an executor that rejects every request without a message, then prints what stays in flight. */
final class FailingExecutor {

    public static void main(String[] args) throws Exception {
        Settings settings = Settings.from(Map.of("PORT", args[0]), 0, "virtual");
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
