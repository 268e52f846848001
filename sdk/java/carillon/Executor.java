package carillon;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Offers the methods of an object that carry {@link Task} to Carillon. The JDK alone; the wire is docs/protocol.md.
 *
 * <pre>
 * new Executor("127.0.0.1:9000").application("ledger").key(System.getenv("CARILLON_KEY")).servers("http://127.0.0.1:8420")
 *     .tasks(new Ledger()).run();
 * </pre>
 *
 * A key that was answered gets its first answer again, while this process lives.
 */
public final class Executor {
    private static final String CALLS = "/carillon/calls/";
    private static final HttpClient CLIENT = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(3)).build();

    record Answer(int status, String text) {
    }

    private record Reply(int status, Map<String, ?> body, Map<String, String> headers) {
    }

    private record Offer(Method method, Object owner, Task task, int[] running) {
    }

    private record Entry(String body, boolean async, CompletableFuture<Map<String, Object>> done) {
    }

    private final String host;
    private final int port;
    private final int remember = 10000;
    private String project = "default", application, advertise, version;
    private List<String> keys = List.of(), servers = List.of();
    private long heartbeat = 10000;
    private final Map<String, Offer> offers = new LinkedHashMap<>();
    private final Map<String, Entry> answers = bounded();
    private final Map<String, Long> epochs = bounded();
    private final Set<Call> running = ConcurrentHashMap.newKeySet();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });
    volatile boolean stopping;

    public Executor(String listen) {
        int colon = listen.lastIndexOf(':');
        host = listen.substring(0, colon);
        port = Integer.parseInt(listen.substring(colon + 1));
    }

    private <V> Map<String, V> bounded() {
        return new LinkedHashMap<>() {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
                return size() > remember;
            }
        };
    }

    public Executor project(String name) {
        project = name;
        return this;
    }

    public Executor application(String name) {
        application = name;
        return this;
    }

    /** "whsec_…"; several, separated by blanks, while it is changed. Without it signatures are not checked. */
    public Executor key(String text) {
        keys = text == null || text.isBlank() ? List.of() : List.of(text.trim().split(" +"));
        return this;
    }

    public Executor servers(String... urls) {
        servers = List.of(urls);
        return this;
    }

    public Executor advertise(String address) {
        advertise = address;
        return this;
    }

    public Executor version(String text) {
        version = text;
        return this;
    }

    public Executor heartbeat(Duration between) {
        heartbeat = between.toMillis();
        return this;
    }

    public Executor tasks(Object owner) {
        for (Method method : owner.getClass().getDeclaredMethods()) {
            Task task = method.getAnnotation(Task.class);
            if (task != null && method.trySetAccessible())
                offers.put(task.path(), new Offer(method, owner, task, new int[1]));
        }
        return this;
    }

    private List<Map<String, Object>> told() {
        List<Map<String, Object>> all = new ArrayList<>();
        offers.values().stream().map(Offer::task).sorted((a, b) -> Boolean.compare(a.async(), b.async()) * 2 + Boolean.compare(a.serial(), b.serial()))
            .forEach(t -> all.add(Map.of("path", t.path(), "description", t.description(), "serial", t.serial(), "async", t.async())));
        return all;
    }

    // ---- requests

    private static Reply refuse(int status, String code, String message) {
        return new Reply(status, Map.of("status", "failure", "code", code, "message", message), status == 429 ? Map.of("Retry-After", "1") : Map.of());
    }

    private void serve(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        Reply reply;
        try {
            reply = answer(exchange.getRequestMethod(), exchange.getRequestURI().getPath(), exchange.getRequestHeaders(), body);
        } catch (RuntimeException e) {
            reply = refuse(500, "ERROR", String.valueOf(e.getMessage()));
        }
        byte[] data = Json.write(reply.body()).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json; charset=utf-8");
        reply.headers().forEach(exchange.getResponseHeaders()::set);
        exchange.sendResponseHeaders(reply.status(), data.length);
        exchange.getResponseBody().write(data);
        exchange.close();
    }

    private Reply answer(String method, String path, Headers headers, String body) {
        if (path.equals("/healthz"))
            return new Reply(200, Map.of("status", "ok", "tasks", told()), Map.of());
        String wrong = signatureWrong(headers, body);
        if (wrong != null)
            return refuse(401, "SIGNATURE", wrong);
        if (path.startsWith(CALLS))
            return call(method, path.substring(CALLS.length()));
        boolean canceling = path.endsWith("/cancel") && !offers.containsKey(path);
        Offer offer = offers.get(canceling ? path.substring(0, path.length() - "/cancel".length()) : path);
        if (offer == null)
            return refuse(404, "NO_TASK", "there is no task " + path + " here");
        if (!method.equals("POST"))
            return refuse(405, "METHOD", path + " takes POST");
        if (canceling)
            return cancel(Call.text(headers, "Idempotency-Key"), Call.text(headers, "X-Carillon-Run"), Call.text(headers, "X-Carillon-Step"));
        try {
            return take(offer, new Call(this, headers, body));
        } catch (IllegalArgumentException e) {
            return refuse(400, "BAD_JSON", String.valueOf(e.getMessage()));
        }
    }

    private static String sign(String key, String id, String at, String body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(key.substring("whsec_".length())), "HmacSHA256"));
            return "v1," + Base64.getEncoder().encodeToString(mac.doFinal((id + "." + at + "." + body).getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private String signatureWrong(Headers headers, String body) {
        if (keys.isEmpty())
            return null;
        String id = Call.text(headers, "Webhook-Id"), at = Call.text(headers, "Webhook-Timestamp"), key = Call.text(headers, "Idempotency-Key");
        if (!at.matches("\\d{1,12}") || Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(at)) > 300)
            return "Webhook-Timestamp is missing, or more than five minutes away";
        if (!key.isEmpty() && !key.equals(id))
            return "Idempotency-Key is not Webhook-Id, so it is not covered by the signature";
        for (String one : keys)
            for (String given : Call.text(headers, "Webhook-Signature").split(" "))
                if (MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), sign(one, id, at, body).getBytes(StandardCharsets.UTF_8)))
                    return null;
        return "Webhook-Signature does not match";
    }

    private Reply cancel(String key, String run, String step) {
        int n = 0;
        for (Call call : running)
            if ((!key.isEmpty() && call.key.equals(key)) || (!run.isEmpty() && call.run.equals(run) && (step.isEmpty() || call.step.equals(step)))) {
                call.canceled = true;
                n++;
            }
        return new Reply(200, Map.of("status", "success", "result", Map.of("canceled", n)), Map.of());
    }

    private Reply call(String method, String key) {
        for (Call call : running)
            if (call.key.equals(key)) {
                call.canceled |= method.equals("DELETE");
                return new Reply(method.equals("DELETE") ? 202 : 200, call.state(), Map.of());
            }
        Entry known;
        synchronized (answers) {
            known = answers.get(key);
        }
        return known != null && known.async() && known.done().isDone() ? new Reply(200, known.done().join(), Map.of())
            : refuse(404, "NO_CALL", "there is no accepted call of this key here");
    }

    private Reply take(Offer offer, Call call) {
        boolean async = offer.task().async();
        Entry known, entry = new Entry(call.body, async, new CompletableFuture<>());
        if (async && call.key.isEmpty())
            call.key = "unnamed." + UUID.randomUUID();
        synchronized (answers) {
            if (!call.run.isEmpty() && call.epoch < epochs.getOrDefault(call.run, 0L))
                return refuse(409, "STALE_EPOCH", "run " + call.run + " was taken over");
            if (!call.run.isEmpty())
                epochs.put(call.run, call.epoch);
            known = answers.get(call.key);
            if (known != null && !known.body().equals(call.body))
                return refuse(422, "KEY_REUSED", "this idempotency key came before with another body");
            if (known == null && (stopping || (offer.task().serial() && offer.running()[0] > 0)))
                return refuse(429, "BUSY", offer.task().path() + " runs a call already");
            if (known == null) {
                offer.running()[0]++;
                running.add(call);
                if (!call.key.isEmpty())
                    answers.put(call.key, entry);
            }
        }
        Map<String, String> location = Map.of("Location", CALLS + URLEncoder.encode(call.key, StandardCharsets.UTF_8));
        if (known != null && async) {
            if (known.done().isDone())
                threads.execute(() -> call.report(known.done().join()));
            return new Reply(202, Map.of("status", "accepted"), location);
        }
        if (known != null)
            return new Reply(200, known.done().join(), Map.of("Idempotency-Replayed", "true"));
        call.accepted = async;
        if (!call.callbacks.isEmpty())
            threads.execute(() -> call.beat(heartbeat));
        if (async) {
            threads.execute(() -> call.report(carryOut(offer, call, entry)));
            return new Reply(202, Map.of("status", "accepted"), location);
        }
        Map<String, Object> end = carryOut(offer, call, entry);
        call.over = true;
        return new Reply(200, end, Map.of());
    }

    private Map<String, Object> carryOut(Offer offer, Call call, Entry entry) {
        String word = entry.async() ? "state" : "status", failed = entry.async() ? "failed" : "failure";
        Map<String, Object> end = new LinkedHashMap<>();
        try {
            Object result = offer.method().invoke(offer.owner(), call);
            end.put(word, entry.async() ? "succeeded" : "success");
            end.put("result", result);
        } catch (InvocationTargetException | IllegalAccessException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            if (cause instanceof Failure delay && delay.seconds >= 0) {
                end.put(word, "delay");
                end.put("after", delay.seconds + "s");
                synchronized (answers) {
                    answers.remove(call.key);
                }
            } else {
                end.put(word, failed);
                end.put("code", cause instanceof Failure failure ? failure.code : cause.getClass().getSimpleName());
                end.put("message", String.valueOf(cause.getMessage()));
            }
        }
        synchronized (answers) {
            offer.running()[0]--;
        }
        entry.done().complete(end);
        running.remove(call);
        return end;
    }

    // ---- life

    static boolean settled(int status) {
        return status != 0 && status != 429 && status < 500;
    }

    static void rest(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static Answer send(String method, String url, String body, Map<String, String> headers) {
        try {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(10))
                .method(method, body.isEmpty() ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body));
            headers.forEach(request::header);
            HttpResponse<String> answer = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
            return new Answer(answer.statusCode(), answer.body());
        } catch (IOException | IllegalArgumentException e) {
            return new Answer(0, String.valueOf(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Answer(0, "interrupted");
        }
    }

    private boolean announce(String verb) {
        String address = advertise == null ? host + ":" + port : advertise;
        String at = String.valueOf(System.currentTimeMillis() / 1000), id = verb + ":" + project + "/" + application + "/" + address + ":" + UUID.randomUUID();
        Map<String, Object> document = new LinkedHashMap<>(Map.of("tasks", told()));
        document.put("version", version);
        String body = verb.equals("register") ? Json.write(document) : "";
        for (String server : servers) {
            Answer answer = send(body.isEmpty() ? "DELETE" : "PUT",
                server.replaceAll("/$", "") + "/api/v1/projects/" + project + "/apps/" + application + "/instances/" + URLEncoder.encode(address, StandardCharsets.UTF_8), body,
                Map.of("Content-Type", "application/json", "Webhook-Id", id, "Webhook-Timestamp", at, "Webhook-Signature", sign(keys.get(0), id, at, body)));
            if (answer.status() >= 200 && answer.status() < 300)
                return true;
            System.err.println("not registered at " + server + ": " + answer.status() + " " + answer.text());
        }
        return false;
    }

    /** Serves until the process is told to end; then it takes its name off, refuses new calls and lets those that run end. */
    public void run() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(host, port), 512);
        server.createContext("/", this::serve);
        server.setExecutor(threads);
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            if (!servers.isEmpty())
                announce("leave");
            for (int i = 0; !running.isEmpty() && i < 500; i++)
                rest(20);
            server.stop(0);
        }));
        while (!stopping)
            rest(servers.isEmpty() || announce("register") ? 10000 : 2000);
    }
}
