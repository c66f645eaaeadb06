package zoo;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.core.StandardWrapper;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http11.Http11Nio2Protocol;
import org.apache.tomcat.util.modeler.Registry;

/** Sets Tomcat up for one of three thread models, starts it, and ends it gently on SIGTERM. */
public final class Main {

    private static final int MAX_CONNECTIONS = 1_000_000;

    /** Platform is Tomcat as it comes, with a pool of maxThreads; each of the others is one line more. */
    private static void makeVariant(String variant, int maxThreads, Connector connector, StandardWrapper servlet) {
        connector.setProperty("maxThreads", String.valueOf(maxThreads));
        if (variant.equals("virtual")) {
            connector.setProperty("useVirtualThreads", "true");  // in the place of the pool
        } else if (variant.equals("async")) {
            servlet.setAsyncSupported(true);  // so ContractServlet.after calls startAsync, and gives its thread back
        }
    }

    public static void main(String[] args) {
        try {
            Map<String, String> env = System.getenv();
            Settings settings = Settings.from(env, 8101, "platform", "virtual", "async");
            serve(settings, connector(settings, env));
        } catch (IllegalArgumentException bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
        }
    }

    private static void serve(Settings settings, Connector connector) {
        // Of the root, as a logger that nobody holds may lose its level. A busy host alone makes Tomcat warn: that its
        // generator of session IDs was slow to come up, and nobody has a session here.
        Logger.getLogger("").setLevel(Level.SEVERE);
        Registry.disableRegistry();  // else Tomcat registers an MBean for every request in flight
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));  // there already: Tomcat makes no folder of its own
        tomcat.setConnector(connector);
        StandardContext context = (StandardContext) tomcat.addContext("", null);
        context.setWorkDir(System.getProperty("java.io.tmpdir"));

        String variant = settings.variant();
        int maxThreads = settings.maxThreads().orElse(200);
        Info info = new Info("java-tomcat", variant, variant + (variant.equals("async") ? "-servlet" : "-thread"),
                "Apache Tomcat", Tomcat.class.getPackage().getImplementationVersion(),
                connector.getProtocolHandler() instanceof Http11Nio2Protocol ? "nio2" : "nio",
                variant.equals("virtual") ? null : maxThreads, MAX_CONNECTIONS, settings.backlog());
        StandardWrapper servlet = (StandardWrapper) Tomcat.addServlet(context, "contract", new ContractServlet(
                () -> info.json(((StandardWrapper) context.findChild("contract")).getRequestCount())));
        servlet.addMapping("/*");
        makeVariant(variant, maxThreads, connector, servlet);
        try {
            tomcat.start();
        } catch (LifecycleException failed) {
            System.err.println("cannot listen on %s: %s".formatted(
                    settings.authority(), failed.getCause().getMessage().toLowerCase(Locale.ROOT)));
            System.exit(1);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(connector, context, servlet), "drain"));
        System.out.println("listening on http://%s (java-tomcat:%s)".formatted(settings.authority(), variant));
        tomcat.getServer().await();
    }

    /** With limits raised alike in all variants, and the conditions that the environment names. */
    private static Connector connector(Settings settings, Map<String, String> env) {
        boolean nio = Settings.choice(env, "CONNECTOR", "nio", "nio2").equals("nio");
        Connector connector = new Connector(nio ? "HTTP/1.1" : "org.apache.coyote.http11.Http11Nio2Protocol");
        connector.setPort(settings.port());
        connector.setThrowOnFailure(true);
        Map.of("address", settings.address().getHostAddress(), "acceptCount", String.valueOf(settings.backlog()),
                "maxConnections", String.valueOf(MAX_CONNECTIONS), "maxKeepAliveRequests", "-1",
                "connectionTimeout", "120000", "processorCache", "-1",
                "disableUploadTimeout", "false", "connectionUploadTimeout", "2000",  // for a body that is half sent
                "bindOnInit", "false")  // a socket bound on start can be closed before the stop
                .forEach(connector::setProperty);
        if (Settings.choice(env, "BUFFERS", "default", "lean").equals("lean")) {
            // Less memory for every request held. The price: a larger response head fails, a long request head is read
            // in parts. The output buffer of the servlet stays: response.setBufferSize can only enlarge it.
            Map.of("socket.appReadBufSize", "1024", "maxHttpResponseHeaderSize", "2048", "maxTrailerSize", "1024")
                    .forEach(connector::setProperty);
        }
        if (Settings.choice(env, "SCHEDULER", "shared", "one").equals("one")) {  // one carrier for all virtual threads
            System.setProperty("jdk.virtualThreadScheduler.parallelism", "1");
            System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", "1");
        }
        return connector;
    }

    /** Stops listening, and ends the process when nothing is in flight any more, or after ten seconds. */
    private static void drain(Connector connector, StandardContext context, StandardWrapper servlet) {
        Thread.setDefaultUncaughtExceptionHandler((thread, end) -> { });  // NIO2's acceptor ends in one: harmless
        connector.getProtocolHandler().closeServerSocketGraceful();
        int idle = 0;  // looks in a row, as an answer may still leave its buffer, or a request wait for its thread
        for (int look = 0; look < 100 && idle < 3; look++) {
            LockSupport.parkNanos(100_000_000);
            idle = servlet.getCountAllocated() + context.getInProgressAsyncCount() == 0 ? idle + 1 : 0;
        }
        Runtime.getRuntime().halt(0);  // exit would say 143 after SIGTERM
    }
}
