package zoo;

import jakarta.servlet.Filter;
import java.io.File;
import java.util.Locale;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.tomcat.ConfigurableTomcatWebServerFactory;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.tomcat.autoconfigure.TomcatServerProperties;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.util.FileSystemUtils;

/**
 * Spring Boot on Tomcat. {@code spring.threads.virtual.enabled=true} makes the variant: a virtual thread for each
 * request in place of Tomcat's pool. What both variants share is in {@code application.properties}.
 */
@SpringBootApplication(proxyBeanMethods = false)
public class Server {

    public static void main(String[] args) {
        Settings settings = checked(System.getenv());
        boolean virtual = settings.variant().equals("virtual");
        SpringApplication application = new SpringApplication(Server.class);
        application.setDefaultProperties(Map.of("spring.threads.virtual.enabled", virtual));
        try {
            var context = (ServletWebServerApplicationContext) application.run(args);
            SpringApplication.getShutdownHandlers().add(end(context));
        } catch (RuntimeException failed) {
            String reason = NestedExceptionUtils.getMostSpecificCause(failed).getMessage();
            System.err.println("cannot listen on %s: %s".formatted(
                    settings.authority(), String.valueOf(reason).toLowerCase(Locale.ROOT)));
            System.exit(1);
        }
        System.out.println("listening on http://%s (java-spring:%s)".formatted(
                settings.authority(), settings.variant()));
    }

    /** After Boot's graceful stop: a JVM that a signal ends has another exit code, and leaves Tomcat's folders. */
    private static Runnable end(ServletWebServerApplicationContext context) {
        File base = ((TomcatWebServer) context.getWebServer()).getTomcat().getServer().getCatalinaBase();
        File documents = new File(context.getServletContext().getRealPath("/"));
        return () -> {
            FileSystemUtils.deleteRecursively(base);
            FileSystemUtils.deleteRecursively(documents);
            Runtime.getRuntime().halt(0);
        };
    }

    private static Settings checked(Map<String, String> env) {
        try {
            Settings.choice(env, "BUFFERS", "default", "lean"); // lean() asks Spring for it
            if (Settings.choice(env, "SCHEDULER", "shared", "one").equals("one")) {
                System.setProperty("jdk.virtualThreadScheduler.parallelism", "1");
                System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", "1");
            }
            return Settings.from(env, 8103, "platform", "virtual");
        } catch (IllegalArgumentException bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
            throw bad;
        }
    }

    /** Counts also what no handler takes; an interceptor would not see that. */
    @Bean
    Filter count(Endpoints endpoints) {
        return (request, response, chain) -> {
            endpoints.requests.increment();
            chain.doFilter(request, response);
        };
    }

    /** Tomcat waits for the rest of a body that nobody reads: not as long as for an idle connection. */
    @Bean
    WebServerFactoryCustomizer<ConfigurableTomcatWebServerFactory> uploads() {
        return tomcat -> tomcat.addConnectorCustomizers(connector -> {
            connector.setProperty("disableUploadTimeout", "false");
            connector.setProperty("connectionUploadTimeout", "2000");
        });
    }

    /** BUFFERS=lean: less memory for each request in flight. */
    @Bean
    @ConditionalOnProperty(name = "BUFFERS", havingValue = "lean")
    WebServerFactoryCustomizer<ConfigurableTomcatWebServerFactory> lean() {
        return tomcat -> tomcat.addConnectorCustomizers(connector -> {
            connector.setProperty("socket.appReadBufSize", "1024");
            connector.setProperty("maxHttpResponseHeaderSize", "2048");
            connector.setProperty("maxTrailerSize", "1024");
        });
    }

    @Bean
    Info info(TomcatServerProperties tomcat, @Value("${spring.threads.virtual.enabled}") boolean virtual) {
        return new Info("java-spring", virtual ? "virtual" : "platform", virtual ? "virtual-thread" : "platform-thread",
                "Spring Boot", SpringBootVersion.getVersion(), "nio", virtual ? null : tomcat.getThreads().getMax(),
                tomcat.getMaxConnections(), tomcat.getAcceptCount());
    }
}
