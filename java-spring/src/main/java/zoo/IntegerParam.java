package zoo;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

import jakarta.servlet.http.HttpServletRequest;
import org.springframework.core.MethodParameter;
import org.springframework.web.bind.ServletRequestBindingException;
import org.springframework.web.bind.support.WebDataBinderFactory;
import org.springframework.web.context.request.NativeWebRequest;
import org.springframework.web.method.support.HandlerMethodArgumentResolver;
import org.springframework.web.method.support.ModelAndViewContainer;

/**
 * An integer in the query string, from 0 to {@code max}. Stricter than {@code @RequestParam}, which takes signs, spaces
 * and the first of two values, and fails when any other parameter is badly encoded.
 */
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
@interface IntegerParam {

    int REQUIRED = -1;

    String name();

    int max();

    int fallback() default REQUIRED;

    /** Gives Spring MVC the value of a handler's parameter. */
    final class Resolver implements HandlerMethodArgumentResolver {

        @Override
        public boolean supportsParameter(MethodParameter parameter) {
            return parameter.hasParameterAnnotation(IntegerParam.class);
        }

        @Override
        public Object resolveArgument(MethodParameter parameter, ModelAndViewContainer container,
                NativeWebRequest request, WebDataBinderFactory binders) throws ServletRequestBindingException {
            IntegerParam param = parameter.getParameterAnnotation(IntegerParam.class);
            String query = request.getNativeRequest(HttpServletRequest.class).getQueryString();
            List<String> values = values(query, param.name());
            if (values.isEmpty() && param.fallback() != REQUIRED) {
                return param.fallback();
            }
            OptionalInt value = values.size() == 1
                    ? Integers.parse(values.getFirst(), 0, param.max())
                    : OptionalInt.empty();
            return value.orElseThrow(() ->
                    new ServletRequestBindingException(Integers.rule(param.name(), 0, param.max())));
        }

        private static List<String> values(String query, String name) {
            List<String> values = new ArrayList<>(1);
            if (query != null) {
                for (String pair : query.split("&")) {
                    int equals = pair.indexOf('=');
                    if (decode(equals < 0 ? pair : pair.substring(0, equals)).equals(name)) {
                        values.add(equals < 0 ? "" : decode(pair.substring(equals + 1)));
                    }
                }
            }
            return values;
        }

        private static String decode(String text) {
            try {
                return URLDecoder.decode(text, StandardCharsets.UTF_8);
            } catch (IllegalArgumentException brokenPercentEncoding) {
                return ""; // neither a known name nor an integer
            }
        }
    }
}
