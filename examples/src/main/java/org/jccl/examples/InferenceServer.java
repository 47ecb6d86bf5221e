package org.jccl.examples;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import org.jccl.DataType;
import org.jccl.GroupInfo;
import org.jccl.GroupListener;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;

/**
 * Inference over ranks. Rank 0 takes requests over HTTP and broadcasts them. All ranks compute each
 * answer together, each with its part of the model. The other ranks wait for the next request
 * without a deadline; if a rank is lost, they are told at once.
 *
 * <p>Requests are answered one after the other, in the order in which they came. Start it with
 * {@code jccl run}, then: {@code curl --data 'Once upon' localhost:8080/generate}. A request with
 * no text stops the server.
 */
public final class InferenceServer {

    private static final int LONGEST_PROMPT = 1024;
    private static final int ANSWER = 40;
    private static final int STOP = 0;

    private final ProcessGroup group;
    private final ParallelModel model;

    /** The number of bytes of a prompt, and the prompt. */
    private final ByteBuffer request =
            ByteBuffer.allocateDirect(Integer.BYTES + LONGEST_PROMPT)
                    .order(ByteOrder.nativeOrder());

    private final Tensor requestTensor = Tensor.of(request, DataType.UINT8);

    /** Fair, so that no session waits for ever. */
    private final ReentrantLock turn = new ReentrantLock(true);

    private InferenceServer(ProcessGroup group) {
        this.group = group;
        SyncCollectives sync = group.sync();
        this.model =
                new ParallelModel(
                        group.rank(), group.size(), part -> sync.allReduce(part, ReduceOp.SUM));
    }

    /**
     * Runs one rank.
     *
     * @param args the port of rank 0 (8080; 0 for any), and how many seconds an operation may take,
     *     except the wait for a request (30)
     * @throws IOException if the port is in use
     */
    public static void main(String[] args) throws IOException {
        int port = args.length > 0 ? Integer.parseInt(args[0]) : 8080;
        Duration timeout = Duration.ofSeconds(args.length > 1 ? Long.parseLong(args[1]) : 30);
        CompletableFuture<Optional<JcclException>> end = new CompletableFuture<>();
        Optional<JcclException> failure;
        try (ProcessGroup group =
                ProcessGroup.builder()
                        .backend("gloo")
                        .timeout(timeout)
                        .listener(whenFailed(end))
                        .build()) {
            InferenceServer server = new InferenceServer(group);
            failure = group.rank() == 0 ? server.serve(port, end) : server.work();
        }
        if (failure.isPresent()) {
            System.exit(1); // so that a launcher starts all ranks again
        }
    }

    private static GroupListener whenFailed(CompletableFuture<Optional<JcclException>> end) {
        return new GroupListener() {
            @Override
            public void groupFailed(GroupInfo group, JcclException cause) {
                System.err.println(cause.getMessage()); // at once, not when the group is closed
                end.complete(Optional.of(cause));
            }
        };
    }

    /** Computes its part of each answer, until rank 0 stops or the group fails. */
    private Optional<JcclException> work() {
        SyncCollectives patient = group.sync(ChronoUnit.FOREVER.getDuration());
        try {
            while (true) {
                patient.broadcast(requestTensor, 0);
                if (request.getInt(0) == STOP) {
                    return Optional.empty();
                }
                model.generate(prompt(), ANSWER);
            }
        } catch (JcclException e) {
            return Optional.of(e);
        }
    }

    private Optional<JcclException> serve(int port, CompletableFuture<Optional<JcclException>> end)
            throws IOException {
        HttpServer http =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        ExecutorService sessions = Executors.newFixedThreadPool(16);
        http.setExecutor(sessions);
        http.createContext("/generate", exchange -> answer(exchange, end));
        http.start();
        System.out.println("listening on port " + http.getAddress().getPort());
        try {
            return end.join();
        } finally {
            http.stop(1);
            sessions.shutdown();
        }
    }

    private void answer(HttpExchange exchange, CompletableFuture<Optional<JcclException>> end)
            throws IOException {
        byte[] prompt = exchange.getRequestBody().readNBytes(LONGEST_PROMPT + 1);
        if (prompt.length > LONGEST_PROMPT) {
            send(exchange, 413, "a prompt has at most " + LONGEST_PROMPT + " bytes");
            return;
        }
        turn.lock();
        try {
            if (!end.isDone()) {
                String answer = answer(prompt);
                send(exchange, 200, answer);
            } else {
                send(exchange, 503, end.join().map(JcclException::getMessage).orElse("stopped"));
            }
            if (prompt.length == 0) {
                end.complete(Optional.empty());
            }
        } catch (JcclException e) {
            end.complete(Optional.of(e));
            send(exchange, 503, e.getMessage());
        } finally {
            turn.unlock();
        }
    }

    /** Has all ranks answer. A prompt of no bytes stops the workers. */
    private String answer(byte[] prompt) {
        request.putInt(0, prompt.length).put(Integer.BYTES, prompt);
        group.sync().broadcast(requestTensor, 0);
        return prompt.length == STOP ? "stopped" : model.generate(prompt(), ANSWER);
    }

    private String prompt() {
        byte[] bytes = new byte[request.getInt(0)];
        request.get(Integer.BYTES, bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void send(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
