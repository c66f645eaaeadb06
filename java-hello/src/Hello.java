/** A JVM with nothing in it: says hello, and with a number of seconds stays for so long. */
public final class Hello {

    private Hello() {
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println("hello world");
        if (args.length > 0) {
            Thread.sleep(1_000 * Long.parseLong(args[0]));
        }
    }
}
