package zoo;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import com.ibm.wsspi.kernel.embeddable.Server;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import javax.management.ObjectName;

/**
 * The gentle end. Handlers of signals and not a shutdown hook, as hooks run side by side: Liberty's own would stop the
 * application meanwhile, and in the variant virtual it sees no request in flight.
 */
record Drain(Server liberty, File work) {

    /** The servlet counts there; Liberty loads it in a class loader of its own. */
    static final String IN_FLIGHT = "zoo:type=InFlight";

    /** By reflection: javac has a warning for each mention of sun.misc.Signal that nothing turns off. */
    void onSignals() throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object end = Proxy.newProxyInstance(Drain.class.getClassLoader(), new Class<?>[] {handler},
                (proxy, method, arguments) -> end(0));
        for (String name : new String[] {"TERM", "INT"}) {
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), end);
        }
    }

    /** Liberty is stopped before its folder is removed, or it would write there again. */
    Object end(int code) {
        long deadline = System.nanoTime() + 10_000_000_000L;
        try {
            drain(deadline);
            liberty.stop("--force").get(deadline + 1_000_000_000 - System.nanoTime(), NANOSECONDS);
        } catch (Exception late) {
            // it ends all the same
        }
        remove(work);
        Runtime.getRuntime().halt(code);
        return null;
    }

    /** Returns when nothing was in flight at three looks. */
    private static void drain(long deadline) throws Exception {
        var beans = ManagementFactory.getPlatformMBeanServer();
        ObjectName servlet = new ObjectName(IN_FLIGHT);
        ObjectName endpoints = new ObjectName("WebSphere:feature=kernel,name=ServerEndpointControl");
        // Pausing closes the listening socket at once, but returns only when all connections have ended.
        Thread.ofPlatform().daemon().start(new FutureTask<>(() -> beans.invoke(endpoints, "pause", null, null)));
        for (int quiet = 0; quiet < 3 && beans.isRegistered(servlet) && System.nanoTime() < deadline;) {
            Thread.sleep(100);
            quiet = (long) beans.getAttribute(servlet, "AsLong") == 0 ? quiet + 1 : 0;
        }
    }

    private static void remove(File file) {
        for (File inside : Objects.requireNonNullElse(file.listFiles(), new File[0])) {
            remove(inside);
        }
        file.delete();
    }
}
