package org.jccl.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * Two hosts with a cable between them: network namespaces with a loopback of their own and one
 * interface, addresses 10.77.0.1 and 10.77.0.2, fd77::1 and fd77::2. Each knows itself by name as
 * 127.0.1.1 and the other by its address, as Debian sets hosts up.
 */
final class TwoHosts {

    private static final long LIMIT_SECONDS = 60;

    /** Within it the names and the hosts file are the process's own. */
    private static final String ENTER =
            "hostname \"$0\" && mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";

    private final String prefix = "jccl" + ProcessHandle.current().pid() + "-";
    private final Path folder;
    private final List<Process> started = new ArrayList<>();

    private TwoHosts(Path folder) {
        this.folder = folder;
    }

    /** Makes them, or skips the test where that is not allowed. */
    static TwoHosts make(Path folder) throws Exception {
        TwoHosts hosts = new TwoHosts(folder);
        try {
            hosts.connect();
            return hosts;
        } catch (IOException e) {
            hosts.remove();
            Assumptions.abort("no network namespaces here: " + e.getMessage());
            throw e;
        }
    }

    private void connect() throws IOException, InterruptedException {
        for (int host = 0; host < 2; host++) {
            ip("netns", "add", namespace(host));
            ip("-n", namespace(host), "link", "set", "lo", "up");
            Files.writeString(
                    hostsFile(host),
                    "127.0.0.1 localhost\n"
                            + "127.0.1.1 host%d\n10.77.0.%d host%d\n"
                                    .formatted(host, 2 - host, 1 - host));
        }
        String[] cable = {"link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns"};
        List<String> words = new ArrayList<>(List.of("-n", namespace(0)));
        words.addAll(List.of(cable));
        words.add(namespace(1));
        ip(words.toArray(String[]::new));
        for (int host = 0; host < 2; host++) {
            String space = namespace(host);
            ip("-n", space, "addr", "add", "10.77.0." + (host + 1) + "/24", "dev", "eth0");
            ip("-n", space, "addr", "add", "fd77::" + (host + 1) + "/64", "dev", "eth0", "nodad");
            ip("-n", space, "link", "set", "eth0", "up");
        }
        // What ranks need: their own names, and a hosts file.
        for (int host = 0; host < 2; host++) {
            finish(new ProcessBuilder(inside(host, List.of("true"))));
        }
    }

    private String namespace(int host) {
        return prefix + host;
    }

    private Path hostsFile(int host) {
        return folder.resolve("hosts-of-" + host);
    }

    private List<String> inside(int host, List<String> command) {
        List<String> words =
                new ArrayList<>(
                        List.of("ip", "netns", "exec", namespace(host), "unshare", "--uts", "sh"));
        words.addAll(List.of("-c", ENTER, "host" + host, hostsFile(host).toString()));
        words.addAll(command);
        return words;
    }

    /** Starts a command on a host; what it prints goes to the file. */
    Process start(int host, Path output, List<String> command) throws IOException {
        Process process =
                new ProcessBuilder(inside(host, command))
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        started.add(process);
        return process;
    }

    /** Pulls the cable, or plugs it in again, at host 1. */
    void plug(boolean in) throws IOException, InterruptedException {
        ip("-n", namespace(1), "link", "set", "eth0", in ? "up" : "down");
    }

    private static void ip(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(List.of(arguments));
        finish(new ProcessBuilder(command));
    }

    private static void finish(ProcessBuilder command) throws IOException, InterruptedException {
        Process process = command.redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes()).strip();
        boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        if (!ended || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new IOException(String.join(" ", command.command()) + ": " + said);
        }
    }

    /** Ends what still runs and takes the hosts away. */
    void remove() throws InterruptedException {
        for (Process process : started) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        }
        for (int host = 0; host < 2; host++) {
            try {
                ip("netns", "del", namespace(host));
            } catch (IOException e) {
                // It was never made.
            }
        }
    }
}
