package zoo;

import java.net.BindException;

import org.springframework.boot.SpringBootExceptionReporter;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** One line for a taken port, in place of Boot's report. {@code spring.factories} names this class. */
@Order(Ordered.HIGHEST_PRECEDENCE)
class BindFailure implements SpringBootExceptionReporter {

    private final ConfigurableApplicationContext context;

    BindFailure(ConfigurableApplicationContext context) {
        this.context = context;
    }

    @Override
    public boolean reportException(Throwable failure) {
        if (!(NestedExceptionUtils.getMostSpecificCause(failure) instanceof BindException bind)) {
            return false;
        }
        System.err.println("cannot listen on " + Server.authority(context.getEnvironment())
                + ": " + bind.getMessage().toLowerCase());
        return true;
    }
}
