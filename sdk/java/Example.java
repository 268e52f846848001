import carillon.Call;
import carillon.Executor;
import carillon.Failure;
import carillon.Task;
import java.time.Duration;
import java.util.Map;

/** The tasks of the clients' test, in Java: java Example HOST:PORT [SERVER KEY] */
public final class Example {
    private int counted;

    @Task(path = "/greet", description = "says hello")
    Object greet(Call call) throws Failure {
        if (call.params().containsKey("fail"))
            throw new Failure("NO_NAME", "who is it?");
        if (call.params().containsKey("delay"))
            throw Failure.again(1);
        return Map.of("hello", call.params().getOrDefault("name", "world"), "step", call.step);
    }

    @Task(path = "/count", serial = true)
    Object count(Call call) throws InterruptedException {
        Thread.sleep(300);
        return Map.of("count", ++counted);
    }

    @Task(path = "/long", async = true)
    Object report(Call call) throws Failure, InterruptedException {
        int seconds = call.params().get("seconds") instanceof Number n ? n.intValue() : 1;
        for (int tenth = 0; tenth < seconds * 10; tenth++) {
            if (call.canceled())
                throw new Failure("CANCELED", "stopped, as asked");
            if (tenth % 5 == 0) {
                call.progress(Math.min(tenth, 100), "page " + (tenth / 5 + 1));
                call.log("page " + (tenth / 5 + 1));
            }
            Thread.sleep(100);
        }
        return Map.of("pages", 2);
    }

    public static void main(String[] args) throws Exception {
        Executor executor = new Executor(args[0]).application("java").version("1.0").heartbeat(Duration.ofSeconds(1)).tasks(new Example());
        if (args.length > 2)
            executor.servers(args[1]).key(args[2]);
        executor.run();
    }
}
