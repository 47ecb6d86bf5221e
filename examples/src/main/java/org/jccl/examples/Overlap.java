package org.jccl.examples;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.stream.IntStream;
import org.jccl.Availability;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.DeviceRuntime;

/**
 * A backward pass that overlaps with the averaging of its gradients. Layer by layer, the compute
 * stream works and the communication stream reduces the gradients that are ready. Copies within the
 * device take the place of the kernels of a real program.
 *
 * <p>Prints device time of the pass with and without overlap, and writes a Chrome trace of both:
 * {@code Overlap [--layers 8] [--elements 1048576] [--copies 8] [--trace overlap.json] [--backend
 * nccl] [--device cuda]}.
 */
final class Overlap {

    private static final DataType TYPE = DataType.FLOAT32;
    private static final long LARGEST_MOCK = 16 << 20;

    /** What a stream did, in milliseconds from the start of the pass. */
    private record Span(String name, String stream, double start, double end) {}

    private final ProcessGroup world;
    private final Device device;
    private final DeviceRuntime runtime;
    private final List<Tensor> gradients;
    private final int copies;

    private Overlap(ProcessGroup world, Device device, int layers, long elements, int copies) {
        this.world = world;
        this.device = device;
        // A real program launches its own kernels. This one has none, and copies with the binding.
        this.runtime = provider(device.type()).deviceRuntime(device.type());
        this.copies = copies;
        this.gradients =
                IntStream.range(0, layers)
                        .mapToObj(layer -> Tensor.allocate(device, TYPE, 2 * elements))
                        .toList();
    }

    private static BackendProvider provider(String deviceType) {
        for (BackendProvider provider : ServiceLoader.load(BackendProvider.class)) {
            if (provider.deviceTypes().contains(deviceType)) {
                return provider;
            }
        }
        throw new IllegalStateException("no binding on the class path drives " + deviceType);
    }

    /** Prints the library, and a warning if it is a mock without a device. */
    private static void printLibrary(String deviceType) throws IOException {
        if (provider(deviceType).availability() instanceof Availability.Available library) {
            System.out.println("library: " + library.version() + ", " + library.path());
            if (isMock(Path.of(library.path()))) {
                System.out.println(
                        "This is the mock of this project's tests: there is no device, and the"
                                + " times below say nothing about one.");
            }
        }
    }

    /** The mock is small and reads variables of its own. */
    private static boolean isMock(Path library) throws IOException {
        return Files.size(library) < LARGEST_MOCK
                && Files.readString(library, StandardCharsets.ISO_8859_1).contains("MOCK_");
    }

    /** Takes the place of one layer's kernels: copies one half of the gradient to the other. */
    private void compute(Tensor gradient, Stream stream) {
        long half = gradient.byteSize() / 2;
        long from = gradient.address() + half;
        for (int i = 0; i < copies; i++) {
            runtime.copy(
                    gradient.address(),
                    from,
                    half,
                    DeviceRuntime.Copy.DEVICE_TO_DEVICE,
                    stream.handle());
        }
    }

    /** Runs one pass and returns what both streams did. */
    @SuppressWarnings("try") // a scope is there to be closed only
    private List<Span> pass(boolean overlap) {
        // The observer stream waits for each work and then records when it was complete.
        try (Stream compute = Stream.create(device, false);
                Stream observer = Stream.create(device, false)) {
            Event start = record(compute);
            List<Event> begun = new ArrayList<>();
            List<Event> ready = new ArrayList<>();
            List<Event> reduced = new ArrayList<>();
            for (Tensor gradient : gradients) {
                begun.add(record(compute));
                compute(gradient, compute);
                ready.add(record(compute));
                Work work;
                try (Stream.Scope scope = compute.use()) {
                    work = world.allReduce(gradient, ReduceOp.AVG);
                    if (!overlap) {
                        work.await();
                    }
                }
                try (Stream.Scope scope = observer.use()) {
                    work.await();
                }
                reduced.add(record(observer));
            }
            observer.synchronize();
            compute.synchronize();
            List<Span> spans = new ArrayList<>();
            double free = 0;
            for (int i = 0; i < gradients.size(); i++) {
                double begin = millis(start, begun.get(i));
                double issued = millis(start, ready.get(i));
                double end = millis(start, reduced.get(i));
                spans.add(new Span("layer " + i, "compute", begin, issued));
                // The communication stream begins when its input is ready and it is free.
                spans.add(new Span("allReduce " + i, "communication", Math.max(issued, free), end));
                free = end;
            }
            start.close();
            List.of(begun, ready, reduced).forEach(events -> events.forEach(Event::close));
            return spans;
        }
    }

    private Event record(Stream stream) {
        Event event = Event.create(device, true);
        event.record(stream);
        return event;
    }

    private static double millis(Event start, Event end) {
        return start.elapsed(end).toNanos() / 1e6;
    }

    private static double busy(List<Span> spans, String stream) {
        return spans.stream()
                .filter(span -> span.stream().equals(stream))
                .mapToDouble(span -> span.end() - span.start())
                .sum();
    }

    private static double end(List<Span> spans) {
        return spans.stream().mapToDouble(Span::end).max().orElse(0);
    }

    private static void print(String name, List<Span> spans) {
        System.out.printf(
                Locale.ROOT,
                "%-10s  %10.3f  %12.3f  %17.3f%n",
                name,
                end(spans),
                busy(spans, "compute"),
                busy(spans, "communication"));
    }

    /** Writes both passes as processes of one trace, for ui.perfetto.dev. */
    private static void writeTrace(Path file, List<Span> serial, List<Span> overlapped)
            throws IOException {
        List<String> events = new ArrayList<>();
        addTo(events, "serial", serial);
        addTo(events, "overlapped", overlapped);
        Files.writeString(file, "{\"traceEvents\": [\n" + String.join(",\n", events) + "\n]}\n");
    }

    private static void addTo(List<String> events, String process, List<Span> spans) {
        for (Span span : spans) {
            events.add(
                    String.format(
                            Locale.ROOT,
                            "{\"ph\": \"X\", \"name\": \"%s\", \"pid\": \"%s\", \"tid\": \"%s\","
                                    + " \"ts\": %.3f, \"dur\": %.3f}",
                            span.name(),
                            process,
                            span.stream(),
                            span.start() * 1e3,
                            (span.end() - span.start()) * 1e3));
        }
    }

    /**
     * Runs the program on one rank.
     *
     * @param args options
     * @throws IOException if the trace cannot be written
     */
    public static void main(String[] args) throws IOException {
        int layers = 8;
        long elements = 1 << 20;
        int copies = 8;
        Path trace = Path.of("overlap.json");
        String backend = "nccl";
        String type = "cuda";
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--layers" -> layers = Integer.parseInt(args[i + 1]);
                case "--elements" -> elements = Long.parseLong(args[i + 1]);
                case "--copies" -> copies = Integer.parseInt(args[i + 1]);
                case "--trace" -> trace = Path.of(args[i + 1]);
                case "--backend" -> backend = args[i + 1];
                case "--device" -> type = args[i + 1];
                default -> throw new IllegalArgumentException("unknown option " + args[i]);
            }
        }
        // JCCL_EXAMPLE_DEVICE lets several ranks share a device if the library allows it.
        String local = System.getenv().getOrDefault("LOCAL_RANK", "0");
        String index = System.getenv().getOrDefault("JCCL_EXAMPLE_DEVICE", local);
        Device device = new Device(type, Integer.parseInt(index));
        try (ProcessGroup world = ProcessGroup.builder().backend(backend).device(device).build()) {
            Overlap example = new Overlap(world, device, layers, elements, copies);
            example.pass(false); // connects and warms up
            List<Span> serial = example.pass(false);
            List<Span> overlapped = example.pass(true);
            example.gradients.forEach(Tensor::close);
            if (world.rank() == 0) {
                printLibrary(device.type());
                System.out.println("milliseconds      total       compute      communication");
                print("serial", serial);
                print("overlapped", overlapped);
                writeTrace(trace, serial, overlapped);
                System.out.println("trace: " + trace);
            }
        }
    }
}
