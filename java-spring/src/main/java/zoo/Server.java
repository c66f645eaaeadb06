package zoo;

import java.io.File;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.catalina.Container;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.tomcat.TomcatConnectorCustomizer;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.web.server.WebServer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.util.FileSystemUtils;
import org.springframework.web.method.support.HandlerMethodArgumentResolver;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Boot's {@code /error} page is left out: {@link Endpoints} and {@link Errors} make every answer of this service. */
@SpringBootApplication(exclude = ErrorMvcAutoConfiguration.class, proxyBeanMethods = false)
public class Server implements WebMvcConfigurer {

    public static void main(String[] args) {
        try {
            Settings.check(System.getenv());
        } catch (IllegalArgumentException bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
        }
        SpringApplication application = new SpringApplication(Server.class);
        application.setRegisterShutdownHook(false); // its exit code would be 143
        var context = (ServletWebServerApplicationContext) application.run();
        WebServer server = context.getWebServer();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(server)));
        Environment environment = context.getEnvironment();
        System.out.println("listening on http://%s (java-spring:%s)".formatted(
                authority(environment), environment.getProperty("spring.profiles.active")));
    }

    /** The authority part of this server's URL. */
    static String authority(Environment environment) {
        String host = environment.getProperty("server.address", "");
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + environment.getProperty("server.port");
    }

    /** Boot's graceful stop: the port closes at once, requests in flight get 10 s; nothing else needs an end. */
    private static void drain(WebServer server) {
        CountDownLatch drained = new CountDownLatch(1);
        server.shutDownGracefully(result -> drained.countDown());
        try {
            drained.await(10, TimeUnit.SECONDS);
        } catch (InterruptedException stopNow) {
            Thread.currentThread().interrupt();
        }
        removeFolders(((TomcatWebServer) server).getTomcat());
        Runtime.getRuntime().halt(0);
    }

    /** Those that Boot made for Tomcat: it would remove them at an exit without halt, and only where they are empty. */
    private static void removeFolders(Tomcat tomcat) {
        FileSystemUtils.deleteRecursively(tomcat.getServer().getCatalinaBase());
        for (Container context : tomcat.getHost().findChildren()) {
            FileSystemUtils.deleteRecursively(new File(((Context) context).getDocBase()));
        }
    }

    /** What has no property of its own in Boot. */
    @Bean
    TomcatConnectorCustomizer connector() {
        return connector -> {
            // TRACE and strange paths get as far as Gate; Tomcat's answers would be others.
            connector.setAllowTrace(true);
            connector.setEncodedSolidusHandling("passthrough");
            // Nothing here reads a body, so one that is half sent must not hold a thread for the idle timeout.
            connector.setProperty("disableUploadTimeout", "false");
            connector.setProperty("connectionUploadTimeout", "2000");
        };
    }

    @Override
    public void addArgumentResolvers(List<HandlerMethodArgumentResolver> resolvers) {
        resolvers.add(new IntegerParam.Resolver());
    }
}
