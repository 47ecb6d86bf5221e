package org.jccl.soak;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.store.FileStore;
import org.jccl.store.HashStore;
import org.jccl.store.TcpStore;

/**
 * A process that is a rank of one world after another. It takes commands and reports over a
 * connection to the driver, and ends when that closes.
 *
 * <p>Arguments: port of the driver, name of the {@link Backend}, and this process's number there
 * unless a launcher tells it.
 */
final class RankMain implements Report {

    private static final Duration STORE_TIMEOUT = Duration.ofSeconds(60);
    private static final int DRIVER_IS_GONE = 3;
    private static final Pattern RANKS =
            Pattern.compile("(?:[Rr]anks?|from|to) (\\[[^\\]]*\\]|\\d+(?:(?:, | and )\\d+)*)");

    private final Backend backend;
    private final int number;
    private final PrintWriter out;
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    private long operations;
    private long elements;
    private long refused;

    private RankMain(Backend backend, int number, Socket driver) throws IOException {
        this.backend = backend;
        this.number = number;
        this.out = new PrintWriter(driver.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread reader = new Thread(() -> read(driver), "soak-commands");
        reader.setDaemon(true);
        reader.start();
    }

    public static void main(String[] arguments) throws Exception {
        Backend backend = Backend.valueOf(arguments[1]);
        int number =
                arguments.length > 2
                        ? Integer.parseInt(arguments[2])
                        : Integer.parseInt(System.getenv(backend.rankVariable()));
        Socket driver =
                new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
        RankMain main = new RankMain(backend, number, driver);
        main.warmUp();
        main.say("hello " + number + " " + ProcessHandle.current().pid());
        main.obey();
        // What is left open must not keep the process.
        System.exit(0);
    }

    private void read(Socket driver) {
        try (BufferedReader in =
                new BufferedReader(
                        new InputStreamReader(driver.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                commands.add(line);
            }
        } catch (IOException e) {
            // As when it is closed.
        }
        Runtime.getRuntime().halt(DRIVER_IS_GONE);
    }

    /**
     * Loads what a first world needs, which takes seconds where many processes start at once. A
     * job's processes must all be in its library before some of them are a world.
     */
    private void warmUp() {
        if (backend.isOneJob()) {
            ProcessGroup.init(backend.library()).close();
            return;
        }
        try (Store store = HashStore.create(STORE_TIMEOUT)) {
            ProcessGroupBuilder builder =
                    ProcessGroup.builder()
                            .backend(backend.library())
                            .store(store)
                            .rank(0)
                            .worldSize(1);
            Device device = device(builder);
            try (ProcessGroup alone = builder.build();
                    Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                alone.allReduce(tensor, ReduceOp.SUM).synchronize();
            }
        }
    }

    private Device device(ProcessGroupBuilder builder) {
        if (backend.deviceType().equals("cpu")) {
            return Device.CPU;
        }
        Device device = new Device(backend.deviceType(), number);
        builder.device(device);
        return device;
    }

    private void obey() throws InterruptedException {
        while (true) {
            String command = commands.take();
            if (command.equals("quit")) {
                return;
            }
            if (command.equals("resources")) {
                say("resources " + Resources.measure());
                continue;
            }
            Assignment assignment = Assignment.parse(command);
            try {
                run(assignment);
            } catch (Throwable e) {
                e.printStackTrace();
                say("broken " + line(e.toString()));
            }
            say("end " + operations + " " + elements + " " + refused);
            operations = 0;
            elements = 0;
            refused = 0;
        }
    }

    private void run(Assignment assignment) {
        pause(assignment.joinDelay());
        say("joining " + System.nanoTime());
        Store store;
        try {
            store = store(assignment);
        } catch (JcclException e) {
            failed(List.of(), "joining", e, System.nanoTime());
            return;
        }
        ProcessGroup world;
        try (store) {
            ProcessGroupBuilder builder =
                    ProcessGroup.builder().backend(backend.library()).timeout(assignment.timeout());
            Device device = device(builder);
            if (store != null) {
                builder.store(store).rank(assignment.rank()).worldSize(assignment.size());
            } else {
                builder.initMethod("tcp://" + assignment.place())
                        .rank(assignment.rank())
                        .worldSize(assignment.size());
            }
            try {
                world = builder.build();
            } catch (JcclException e) {
                failed(List.of(), "joining", e, System.nanoTime());
                return;
            }
            say("running");
            runIn(world, device, assignment);
        }
        say("closed");
    }

    private Store store(Assignment assignment) {
        return switch (assignment.meeting()) {
            case STORE ->
                    TcpStore.connect(
                            "127.0.0.1",
                            Integer.parseInt(assignment.place()),
                            assignment.timeout());
            case FILE ->
                    FileStore.open(
                            Path.of(assignment.place()), assignment.size(), assignment.timeout());
            case RANK_ZERO -> null;
        };
    }

    private void runIn(ProcessGroup world, Device device, Assignment assignment) {
        Plan plan =
                new Plan(
                        world,
                        device,
                        backend.traits(),
                        assignment.seed(),
                        assignment.timeout(),
                        assignment.late(),
                        assignment.asynchronous(),
                        this);
        if (assignment.own() != Assignment.Own.NOTHING) {
            Thread fault = new Thread(() -> doOwn(world, assignment), "soak-fault");
            fault.setDaemon(true);
            fault.start();
        }
        boolean well = false;
        try {
            plan.run(assignment.steps());
            well = true;
        } catch (StepFailure e) {
            failed(e.ranks(), e.getMessage(), e.failure(), e.nanos());
            plan.checkWhatSucceeded();
        } finally {
            // Where the rank has closed its world itself, the groups made from it are still open.
            say("closing");
            plan.close();
            goOn(device, well);
        }
    }

    /**
     * As a program must that goes on with another world: its stream tells what is still unknown.
     */
    private void goOn(Device device, boolean well) {
        if (device.equals(Device.CPU)) {
            return;
        }
        try {
            Stream.current(device).synchronize();
        } catch (JcclException e) {
            if (well) {
                failed(List.of(), "closing", e, System.nanoTime());
            } else {
                System.out.println("dropped: " + e.getMessage());
            }
        }
    }

    private void doOwn(ProcessGroup world, Assignment assignment) {
        pause(assignment.ownDelay());
        say("fault " + System.nanoTime());
        if (assignment.own() == Assignment.Own.ABORT) {
            world.abort();
        } else {
            world.close();
        }
    }

    private void failed(List<Integer> ranks, String step, JcclException failure, long nanos) {
        failure.printStackTrace();
        Set<Integer> named = new TreeSet<>();
        StringBuilder text = new StringBuilder();
        // A message's operation names its peer.
        addRanks(failure.context().operation(), named);
        for (Throwable each = failure; each != null; each = each.getCause()) {
            String reason = each instanceof JcclException own ? own.reason() : each.getMessage();
            text.append(text.isEmpty() ? "" : " <- ").append(reason);
            addRanks(String.valueOf(reason), named);
        }
        say(
                String.format(
                        Locale.ROOT,
                        "failed\t%d\t%s\t%s\t%s\t%s\t%s\t%s",
                        nanos,
                        failure.getClass().getSimpleName(),
                        failure.category(),
                        ranks,
                        named,
                        line(step),
                        line(failure.context() + ": " + text)));
    }

    private static void addRanks(String text, Set<Integer> named) {
        Matcher matcher = RANKS.matcher(text);
        while (matcher.find()) {
            for (String rank : matcher.group(1).split("\\D+")) {
                if (!rank.isEmpty()) {
                    named.add(Integer.parseInt(rank));
                }
            }
        }
    }

    @Override
    public void operation(List<Block> blocks) {
        operations++;
        for (Block block : blocks) {
            elements += block.elements();
        }
    }

    @Override
    public void refused() {
        refused++;
    }

    @Override
    public void wrong(String what) {
        say("wrong " + line(what));
    }

    private synchronized void say(String line) {
        out.println(line);
    }

    private static String line(String text) {
        return text.replaceAll("\\s+", " ");
    }

    private static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new UncheckedIOException(new IOException(e));
        }
    }
}
