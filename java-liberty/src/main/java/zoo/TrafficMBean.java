package zoo;

/** What the servlet counts, for {@link Main}: Liberty loads the servlet in a class loader of its own. */
public interface TrafficMBean {

    String NAME = "zoo:type=Traffic";

    long getRequests();

    long getInFlight();
}
