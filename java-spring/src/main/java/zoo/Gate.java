package zoo;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.stereotype.Component;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.NoHandlerFoundException;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;

/**
 * Counts the requests and lets only GET and HEAD of an exact path through. Spring MVC would answer OPTIONS, TRACE and
 * CORS preflights in its own way, and take {@code /sleep;x=1} for {@code /sleep}.
 */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE)
class Gate implements Filter {

    private static final List<String> METHODS = List.of("GET", "HEAD");

    private final LongAdder requests = new LongAdder();
    private final Set<String> paths;
    private final HandlerExceptionResolver errors;

    Gate(RequestMappingHandlerMapping mapping,
            @Qualifier("handlerExceptionResolver") HandlerExceptionResolver errors) {
        this.paths = mapping.getHandlerMethods().keySet().stream()
                .flatMap(info -> info.getDirectPaths().stream())
                .collect(Collectors.toUnmodifiableSet());
        this.errors = errors;
    }

    long requests() {
        return requests.sum();
    }

    @Override
    public void doFilter(ServletRequest servletRequest, ServletResponse servletResponse, FilterChain chain)
            throws IOException, ServletException {
        HttpServletRequest request = (HttpServletRequest) servletRequest;
        HttpServletResponse response = (HttpServletResponse) servletResponse;
        String method = request.getMethod();
        requests.increment();
        if (!paths.contains(request.getRequestURI())) {
            refuse(request, response, new NoHandlerFoundException(method, request.getRequestURI(), HttpHeaders.EMPTY));
        } else if (!METHODS.contains(method)) {
            refuse(request, response, new HttpRequestMethodNotSupportedException(method, METHODS));
        } else {
            chain.doFilter(request, response);
        }
    }

    /** Leaves the answer to {@link Errors}. */
    private void refuse(HttpServletRequest request, HttpServletResponse response, Exception reason) {
        errors.resolveException(request, response, null, reason);
    }
}
