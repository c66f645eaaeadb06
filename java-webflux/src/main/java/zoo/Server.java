package zoo;

import io.netty.channel.ChannelOption;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.boot.web.server.reactive.context.ReactiveWebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import zoo.shared.Settings;

/** Spring Boot on Reactor Netty: the starter {@code webflux} in place of {@code web} makes the thread model. */
@SpringBootApplication(proxyBeanMethods = false)
public class Server {

    public static void main(String[] args) {
        Settings settings = Settings.read(8108, 200, "reactive");
        var context = (ReactiveWebServerApplicationContext) SpringApplication.run(Server.class, args);
        System.out.println("listening on http://%s:%s (java-webflux:%s)".formatted(
                context.getEnvironment().getProperty("server.address"), context.getWebServer().getPort(),
                settings.variant()));
    }

    /** Sets what Boot has no property for. */
    @Bean
    NettyServerCustomizer backlog(@Value("${BACKLOG:65535}") int backlog) {
        return server -> server.option(ChannelOption.SO_BACKLOG, backlog);
    }
}
