package zoo;

import java.util.Map;
import org.apache.catalina.core.StandardContext;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.tomcat.TomcatConnectorCustomizer;
import org.springframework.boot.tomcat.TomcatContextCustomizer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import zoo.shared.Settings;

/**
 * Spring Boot on Tomcat. {@code spring.threads.virtual.enabled=true} makes the variant: a virtual thread for each
 * request instead of Tomcat's pool. What both variants share is in {@code application.properties}.
 */
@SpringBootApplication(proxyBeanMethods = false)
public class Server {

    public static void main(String[] args) {
        Settings settings = Settings.read(8103, 200, "platform", "virtual");
        Settings.choice("BUFFERS", "default", "lean"); // read by connector()
        SpringApplication application = new SpringApplication(Server.class);
        application.setDefaultProperties(
                Map.of("spring.threads.virtual.enabled", settings.variant().equals("virtual")));
        var context = (ServletWebServerApplicationContext) application.run(args);
        System.out.println("listening on http://%s:%s (java-spring:%s)".formatted(
                context.getEnvironment().getProperty("server.address"), context.getWebServer().getPort(),
                settings.variant()));
    }

    /** Without this, Tomcat leaves a folder behind. */
    @Bean
    TomcatContextCustomizer workFolder() {
        return context -> ((StandardContext) context).setWorkDir(System.getProperty("java.io.tmpdir"));
    }

    /** Sets what Boot has no properties for. */
    @Bean
    TomcatConnectorCustomizer connector(@Value("${BUFFERS:default}") String buffers) {
        return connector -> {
            connector.setProperty("disableUploadTimeout", "false");
            connector.setProperty("connectionUploadTimeout", "2000"); // for a body that is half sent
            if (buffers.equals("lean")) {
                Map.of("socket.appReadBufSize", "1024", "maxHttpResponseHeaderSize", "2048", "maxTrailerSize", "1024")
                        .forEach(connector::setProperty);
            }
        };
    }
}
