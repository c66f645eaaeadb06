package zoo;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * The gentle end. It is a handler of signals and not a shutdown hook, because hooks run side by side: Liberty's own
 * would meanwhile stop the application, and in the variant virtual it sees no request in flight.
 */
final class Drain {

    private static final String ENDPOINTS = "WebSphere:feature=kernel,name=ServerEndpointControl";
    private static final long DRAIN_SECONDS = 10;
    private static final long QUIET_MS = 200;

    private Drain() {
    }

    /** By reflection: javac has a warning for each mention of sun.misc.Signal that nothing turns off. */
    static void onSignals(WorkFolder folder) throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object end = Proxy.newProxyInstance(Drain.class.getClassLoader(), new Class<?>[] {handler},
                (proxy, method, arguments) -> {
                    end(folder);
                    return null;
                });
        for (String name : new String[] {"TERM", "INT"}) {
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), end);
        }
    }

    private static void end(WorkFolder folder) {
        try {
            drain(ManagementFactory.getPlatformMBeanServer());
        } catch (JMException notYetStarted) {
            // nothing is in flight
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        folder.remove();
        Runtime.getRuntime().halt(0);
    }

    /** Returns when nothing was in flight at two looks with no new request between them. */
    private static void drain(MBeanServer beans) throws JMException, InterruptedException {
        long deadline = System.nanoTime() + SECONDS.toNanos(DRAIN_SECONDS);
        // Pausing closes the listening socket at once, but returns only when all connections have ended.
        Thread.ofPlatform().daemon().name("pause").start(() -> pause(beans));
        boolean quiet = false;
        while (!quiet && System.nanoTime() < deadline) {
            long requests = traffic(beans, "Requests");
            boolean idle = traffic(beans, "InFlight") == 0;
            Thread.sleep(QUIET_MS);
            quiet = idle && traffic(beans, "InFlight") == 0 && traffic(beans, "Requests") == requests;
        }
    }

    private static void pause(MBeanServer beans) {
        try {
            beans.invoke(new ObjectName(ENDPOINTS), "pause", null, null);
        } catch (JMException failed) {
            System.err.println("cannot close the listening socket: " + failed.getMessage());
        }
    }

    private static long traffic(MBeanServer beans, String attribute) throws JMException {
        return (Long) beans.getAttribute(new ObjectName(TrafficMBean.NAME), attribute);
    }
}
