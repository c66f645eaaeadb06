package zoo;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.unchecked.Unchecked;
import io.vertx.mutiny.core.Vertx;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** All that the variants differ in: the thread a request is handled on, and how it waits and computes there. */
sealed interface ThreadModel {

    static ThreadModel of(Settings settings, Vertx vertx) {
        return switch (settings.variant()) {
            case EVENTLOOP -> new EventLoop(vertx);
            case PLATFORM -> new Blocking(Executors.newFixedThreadPool(settings.maxThreads(),
                    Thread.ofPlatform().name("worker-", 0).factory()));
            case VIRTUAL -> new Blocking(Executors.newThreadPerTaskExecutor(
                    Thread.ofVirtual().name("request").factory()));
        };
    }

    /** Runs the handler where this model wants it; the result arrives on the connection's event loop. */
    <T> Uni<T> handle(Uni<T> handler, Executor eventLoop);

    /** With a lock: inside a monitor, where this model blocks a thread. */
    Uni<Void> sleep(int ms, boolean lock);

    <T> Uni<T> compute(Callable<T> task);

    /** Stays on the event loop: a timer instead of a sleep, and long computing on Vert.x's worker pool. */
    record EventLoop(Vertx vertx) implements ThreadModel {

        @Override
        public <T> Uni<T> handle(Uni<T> handler, Executor eventLoop) {
            return handler;
        }

        @Override
        public Uni<Void> sleep(int ms, boolean lock) {
            return ms == 0  // which Vert.x does not take for a timer
                    ? Uni.createFrom().voidItem()
                    : Uni.createFrom().emitter(waiting -> vertx.setTimer(ms, id -> waiting.complete(null)));
        }

        @Override
        public <T> Uni<T> compute(Callable<T> task) {
            return vertx.executeBlocking(task, false);
        }
    }

    /** One thread of the executor per request, from first to last; it may block. */
    record Blocking(Executor executor) implements ThreadModel {

        @Override
        public <T> Uni<T> handle(Uni<T> handler, Executor eventLoop) {
            return handler.runSubscriptionOn(executor).emitOn(eventLoop);
        }

        @Override
        public Uni<Void> sleep(int ms, boolean lock) {
            return compute(() -> {
                if (lock) {
                    Monitor.sleepInside(ms);
                } else {
                    Thread.sleep(ms);
                }
                return null;
            });
        }

        @Override
        public <T> Uni<T> compute(Callable<T> task) {
            return Uni.createFrom().item(Unchecked.supplier(task::call));
        }
    }
}
