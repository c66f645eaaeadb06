import com.sun.tools.attach.VirtualMachine;
import java.util.Arrays;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Watches another JVM as a monitoring console does: has it start its JMX agent, and reads all platform beans once a
 * second. Arguments: the process id, and for how many seconds.
 */
public final class Watch {

    private Watch() {
    }

    public static void main(String[] args) throws Exception {
        VirtualMachine watched = VirtualMachine.attach(args[0]);
        String address = watched.startLocalManagementAgent();
        watched.detach();
        try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(address))) {
            MBeanServerConnection beans = connector.getMBeanServerConnection();
            for (int left = Integer.parseInt(args[1]); left > 0; left--) {
                int read = 0;
                for (ObjectName bean : beans.queryNames(new ObjectName("java.lang:*"), null)) {
                    String[] names = Arrays.stream(beans.getMBeanInfo(bean).getAttributes())
                            .map(MBeanAttributeInfo::getName).toArray(String[]::new);
                    read += beans.getAttributes(bean, names).size();  // without those the JVM has no value for
                }
                System.out.println("read " + read + " values");
                Thread.sleep(1_000);
            }
        }
    }
}
