package carillon;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What a task is given. */
public final class Call {
    final Executor executor;
    final List<String> callbacks = new ArrayList<>();
    final String body;
    String key;
    public final String run, job, step, scheduledAt, deadline;
    public final long epoch;
    public final int attempt, shardIndex, shardTotal;
    private final Map<String, Object> params;
    private List<String> lines = new ArrayList<>();
    private Map<String, Object> state = Map.of("state", "running");
    volatile boolean accepted, canceled, over;

    @SuppressWarnings("unchecked")
    Call(Executor executor, com.sun.net.httpserver.Headers headers, String body) {
        this.executor = executor;
        this.body = body;
        Object parsed = body.isBlank() ? Map.of() : Json.parse(body);
        params = parsed instanceof Map ? (Map<String, Object>) parsed : Map.of("", parsed);
        key = text(headers, "Idempotency-Key");
        run = text(headers, "X-Carillon-Run");
        job = text(headers, "X-Carillon-Job");
        step = text(headers, "X-Carillon-Step");
        scheduledAt = text(headers, "X-Carillon-Scheduled-At");
        deadline = text(headers, "X-Carillon-Deadline");
        epoch = number(text(headers, "X-Carillon-Epoch"));
        attempt = (int) number(text(headers, "X-Carillon-Attempt"));
        shardIndex = (int) number(text(headers, "X-Carillon-Shard-Index"));
        shardTotal = Math.max(1, (int) number(text(headers, "X-Carillon-Shard-Total")));
        for (String url : text(headers, "X-Carillon-Callback").split(","))
            if (!url.isBlank())
                callbacks.add(url.trim());
    }

    static String text(com.sun.net.httpserver.Headers headers, String name) {
        String value = headers.getFirst(name);
        return value == null ? "" : value;
    }

    private static long number(String text) {
        return text.matches("\\d{1,18}") ? Long.parseLong(text) : 0;
    }

    public String key() {
        return key;
    }

    public Map<String, Object> params() {
        return params;
    }

    /** Come to an end: canceled, ended otherwise, or the executor stops. */
    public boolean canceled() {
        return canceled || executor.stopping;
    }

    public synchronized void progress(int percent, String message) {
        state = Map.of("state", "running", "progress", percent, "message", message);
    }

    public synchronized void log(String line) {
        lines.add(line);
    }

    synchronized Map<String, Object> state() {
        return state;
    }

    private synchronized List<String> takeLines() {
        List<String> taken = lines;
        lines = new ArrayList<>();
        return taken;
    }

    /** To the first address that settles it: its HTTP status, 0 = nobody answered. */
    private int tell(String suffix, String text, String type) {
        int status = 0;
        for (String url : callbacks) {
            Executor.Answer answer = Executor.send("POST", url + suffix, text, Map.of("Content-Type", type));
            status = answer.status();
            canceled |= status == 409 || status == 410
                || (status == 200 && suffix.isEmpty() && answer.text().replace(" ", "").contains("\"canceled\":true"));
            if (Executor.settled(status))
                break;
        }
        return status;
    }

    private void tellLog() {
        List<String> taken = takeLines();
        if (!taken.isEmpty())
            tell("/logs", String.join("\n", taken) + "\n", "text/plain; charset=utf-8");
    }

    /** Signs of life until the call is over. */
    void beat(long millis) {
        Map<String, Object> told = null;
        for (long at = System.nanoTime(); !over;) {
            Executor.rest(250);
            if (over)
                return;
            tellLog();
            Map<String, Object> now = state();
            if (!over && (now != told || System.nanoTime() - at > millis * 1000000)) {
                told = now;
                at = System.nanoTime();
                Map<String, Object> promise = new java.util.LinkedHashMap<>(now);
                if (accepted)
                    promise.put("within", millis * 3 / 1000 + 5 + "s");
                tell("", Json.write(promise), "application/json");
            }
        }
    }

    /** Until it is acknowledged, for a day. */
    void report(Map<String, Object> end) {
        over = true;
        tellLog();
        String text = Json.write(end);
        long until = System.nanoTime() + 86400_000_000_000L;
        for (long pause = 1000; !callbacks.isEmpty() && System.nanoTime() < until; pause = Math.min(pause * 2, 60000)) {
            int status = tell("", text, "application/json");
            if (status == 200 || status == 409 || status == 410)
                return;
            if (Executor.settled(status))
                text = Json.write(Map.of("state", "failed", "code", "REPORT_REFUSED", "message", "the report was refused with " + status));
            Executor.rest(pause);
        }
    }
}
