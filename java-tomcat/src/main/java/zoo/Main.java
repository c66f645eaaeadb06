package zoo;

import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.core.StandardWrapper;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.modeler.Registry;
import zoo.shared.Info;
import zoo.shared.Settings;

/** Starts Tomcat with one of three thread models. In {@code async}, main calls {@code setAsyncSupported(true)}. */
public final class Main {

    /** By default Tomcat has a pool of maxThreads. All other settings are the same in every variant. */
    private static Connector connector(Settings settings, String transport) {
        Connector connector = new Connector(
                transport.equals("nio") ? "HTTP/1.1" : "org.apache.coyote.http11.Http11Nio2Protocol");
        connector.setProperty("maxThreads", String.valueOf(settings.maxThreads()));
        connector.setProperty("useVirtualThreads", String.valueOf(settings.variant().equals("virtual")));
        connector.setThrowOnFailure(true);
        connector.setAsyncTimeout(0);  // none
        Map.of("address", settings.address().getHostAddress(), "port", String.valueOf(settings.port()),
                "acceptCount", String.valueOf(settings.backlog()), "maxConnections", "1000000",
                "maxKeepAliveRequests", "-1", "processorCache", "-1", "connectionTimeout", "120000",
                "disableUploadTimeout", "false", "connectionUploadTimeout", "2000",  // for a body that is half sent
                "bindOnInit", "false")  // so that stop() first closes the listening socket
                .forEach(connector::setProperty);
        if (Settings.choice("BUFFERS", "default", "lean").equals("lean")) {  // the output buffer stays at 8 KiB
            Map.of("socket.appReadBufSize", "1024", "maxHttpResponseHeaderSize", "2048", "maxTrailerSize", "1024")
                    .forEach(connector::setProperty);
        }
        return connector;
    }

    public static void main(String[] args) {
        Settings settings = Settings.read(8101, 200, "platform", "virtual", "async");
        String variant = settings.variant();
        String transport = Settings.choice("CONNECTOR", "nio", "nio2");
        Logger.getLogger("").setLevel(Level.SEVERE);
        Registry.disableRegistry();  // no MBean for each request in flight
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));  // exists, so Tomcat creates no folder
        tomcat.setConnector(connector(settings, transport));
        StandardContext context = (StandardContext) tomcat.addContext("", null);
        context.setWorkDir(System.getProperty("java.io.tmpdir"));
        context.setUnloadDelay(9_000);  // ms; how long stop() waits for requests in progress
        Info info = new Info("java-tomcat", variant, variant + (variant.equals("async") ? "-servlet" : "-thread"),
                "Apache Tomcat", Tomcat.class.getPackage().getImplementationVersion(), transport,
                variant.equals("virtual") ? null : settings.maxThreads(), 1_000_000, settings.backlog());
        StandardWrapper servlet = (StandardWrapper) Tomcat.addServlet(context, "zoo", new ContractServlet(
                tomcat.getServer(), () -> info.json(((StandardWrapper) context.findChild("zoo")).getRequestCount())));
        servlet.addMapping("/*");
        servlet.setAsyncSupported(variant.equals("async"));  // then ContractServlet.after returns its thread
        try {
            tomcat.start();
        } catch (LifecycleException failed) {
            throw Settings.exit("cannot listen on " + settings.authority() + ": " + failed.getCause().getMessage());
        }
        Runtime.getRuntime().addShutdownHook(new Thread(new FutureTask<>(() -> {
            tomcat.stop();
            return null;
        })));
        System.out.println("listening on http://%s (java-tomcat:%s)".formatted(settings.authority(), variant));
        tomcat.getServer().await();
    }
}
