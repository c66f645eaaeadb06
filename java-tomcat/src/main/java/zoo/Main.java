package zoo;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.Locale;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.connector.Response;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.apache.coyote.http11.Http11Nio2Protocol;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.descriptor.web.ErrorPage;
import org.apache.tomcat.util.modeler.Registry;

/** Sets Tomcat up for one of three thread models, starts it, and ends it gently on SIGTERM. */
public final class Main {

    static final int MAX_CONNECTIONS = 1_000_000;

    private static final int IDLE_TIMEOUT_MS = 120_000;
    private static final int UPLOAD_TIMEOUT_MS = 2_000;
    private static final int READ_BUFFER = 1_024;
    private static final int RESPONSE_HEAD = 2_048;
    private static final int TRAILERS = 1_024;
    private static final int SERVLET_BUFFER = 2_048;
    private static final String URI_CHARACTERS_LEFT_TO_THE_SERVLET = "\"<>[\\]^`{|}";
    private static final long DRAIN_SECONDS = 10;
    private static final long QUIET_MS = 200;

    /** Held here: a logger that nobody holds is collected, and its level with it. */
    private static final Logger TOMCAT_LOG = Logger.getLogger("org.apache");

    private Main() {
    }

    public static void main(String[] args) {
        Settings settings;
        try {
            settings = Settings.from(System.getenv());
        } catch (IllegalArgumentException bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
            return;
        }

        TOMCAT_LOG.setLevel(Level.OFF);  // what fails while starting comes as an exception
        Registry.disableRegistry();  // else Tomcat registers an MBean for every request in flight
        ContractServlet servlet = new ContractServlet(settings);
        Connector connector = connector(settings);
        Tomcat tomcat = tomcat(connector, servlet);
        try {
            tomcat.start();
        } catch (LifecycleException failed) {
            Throwable cause = failed;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            System.err.println("cannot listen on %s: %s".formatted(
                    settings.authority(), String.valueOf(cause.getMessage()).toLowerCase(Locale.ROOT)));
            System.exit(1);
        }
        TOMCAT_LOG.setLevel(Level.WARNING);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(connector, servlet), "drain"));
        System.out.println("listening on http://%s (java-tomcat:%s)".formatted(
                settings.authority(), settings.variant().label));
        tomcat.getServer().await();
    }

    private static Connector connector(Settings settings) {
        AbstractHttp11Protocol<?> http = settings.nio2() ? new Http11Nio2Protocol() : new Http11NioProtocol();

        // These lines make the variants; what sets async apart from platform is ContractServlet.helloAfter.
        switch (settings.variant()) {
            case PLATFORM, ASYNC -> http.setMaxThreads(settings.maxThreads());
            case VIRTUAL -> http.setProperty("useVirtualThreads", "true");
        }

        http.setAddress(settings.address());
        http.setAcceptCount(settings.backlog());
        http.setMaxConnections(MAX_CONNECTIONS);
        http.setMaxKeepAliveRequests(-1);
        // Default 200: the buffers of each further request in flight, some 40 KB, would be garbage after it.
        http.setProcessorCache(-1);
        // Tomcat allocates each of these in full for every request it holds; 8 KiB is its default.
        http.setProperty("socket.appReadBufSize", Integer.toString(READ_BUFFER));
        http.setMaxHttpResponseHeaderSize(RESPONSE_HEAD);
        http.setMaxTrailerSize(TRAILERS);
        http.setConnectionTimeout(IDLE_TIMEOUT_MS);
        http.setKeepAliveTimeout(IDLE_TIMEOUT_MS);
        // Nothing here reads a body, so one that is half sent must not hold a pool thread for the idle timeout.
        http.setDisableUploadTimeout(false);
        http.setConnectionUploadTimeout(UPLOAD_TIMEOUT_MS);
        // Strange paths, queries and methods get the answers of the contract, not Tomcat's.
        http.setRelaxedPathChars(URI_CHARACTERS_LEFT_TO_THE_SERVLET);
        http.setRelaxedQueryChars(URI_CHARACTERS_LEFT_TO_THE_SERVLET);

        Connector connector = new Connector(http) {
            @Override
            public Response createResponse(org.apache.coyote.Response response) {
                return new Response(response, SERVLET_BUFFER);
            }
        };
        connector.setPort(settings.port());
        connector.setEncodedSolidusHandling("passthrough");
        connector.setEncodedReverseSolidusHandling("passthrough");
        connector.setAllowBackslash(true);
        connector.setAllowTrace(true);
        connector.setThrowOnFailure(true);
        connector.setProperty("bindOnInit", "false");  // only a socket bound on start can be closed before the stop
        connector.setProperty("executorTerminationTimeoutMillis", "0");  // a taken port is told at once with NIO2 too
        return connector;
    }

    private static Tomcat tomcat(Connector connector, ContractServlet servlet) {
        String temporary = System.getProperty("java.io.tmpdir");  // there already: Tomcat makes no folder of its own
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(temporary);
        tomcat.setConnector(connector);

        ErrorReportValve errors = new ErrorReportValve();
        errors.setShowReport(false);
        errors.setShowServerInfo(false);
        tomcat.getHost().getPipeline().addValve(errors);

        StandardContext context = (StandardContext) tomcat.addContext("", null);
        context.setWorkDir(temporary);
        Wrapper wrapper = Tomcat.addServlet(context, "contract", servlet);
        wrapper.setAsyncSupported(true);
        context.addServletMapping("/*", "contract");
        // Tomcat itself refuses /WEB-INF and /META-INF: let the servlet word that 404 too.
        ErrorPage notFound = new ErrorPage();
        notFound.setErrorCode(404);
        notFound.setLocation("/not-found");
        context.addErrorPage(notFound);
        return tomcat;
    }

    /** Ends the process when nothing was in flight at two looks with no new request between them. */
    private static void drain(Connector connector, ContractServlet servlet) {
        long deadline = System.nanoTime() + SECONDS.toNanos(DRAIN_SECONDS);
        if (connector.getProtocolHandler() instanceof Http11Nio2Protocol) {
            // Its acceptor ends in a NullPointerException when its socket is closed: harmless, but not to be printed.
            Thread.setDefaultUncaughtExceptionHandler((thread, lastWords) -> { });
        }
        // Closes the listening socket; connections that are open get "Connection: close" with their next answer.
        connector.getProtocolHandler().closeServerSocketGraceful();
        try {
            boolean quiet = false;
            while (!quiet && System.nanoTime() < deadline) {
                long requests = servlet.requests();
                boolean idle = servlet.inFlight() == 0;
                Thread.sleep(QUIET_MS);
                quiet = idle && servlet.inFlight() == 0 && servlet.requests() == requests;
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(0);  // exit would say 143 after SIGTERM
    }
}
