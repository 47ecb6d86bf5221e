package org.jccl.etcd;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Cluster;
import io.etcd.jetcd.options.GetOption;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jccl.testing.FreePort;

/** Members of a real etcd on this host, in folders of their own. */
public final class EtcdCluster implements AutoCloseable {

    private static final Path UNPACKED = Path.of(".etcd", "usr", "bin", "etcd");

    private static final class Member {
        private final int number;
        private final int client;
        private final int peer;
        private Process process;

        /** How many folders the members of this number had before. */
        private int data;

        Member(int number) throws IOException {
            this.number = number;
            this.client = FreePort.next();
            this.peer = FreePort.next();
        }
    }

    private final Path folder;
    private final List<Member> members = new ArrayList<>();
    private final List<String> options;

    private EtcdCluster(Path folder, List<String> options) {
        this.folder = folder;
        this.options = options;
    }

    /** Starts members; skips the test if there is no etcd. */
    public static EtcdCluster start(int size, Path folder, String... options) throws Exception {
        program();
        EtcdCluster cluster = new EtcdCluster(folder, List.of(options));
        for (int i = 0; i < size; i++) {
            cluster.members.add(new Member(i));
        }
        for (int i = 0; i < size; i++) {
            cluster.start(i, "new");
        }
        for (int i = 0; i < size; i++) {
            cluster.awaitPort(i);
        }
        return cluster;
    }

    private static String program() {
        String given = System.getenv("JCCL_TEST_ETCD");
        if (given != null) {
            return given;
        }
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.isExecutable(at.resolve(UNPACKED))) {
                return at.resolve(UNPACKED).toString();
            }
        }
        for (String each : System.getenv("PATH").split(":")) {
            if (Files.isExecutable(Path.of(each, "etcd"))) {
                return Path.of(each, "etcd").toString();
            }
        }
        assumeTrue(false, "there is no etcd; script/bootstrap --with-etcd fetches it");
        return "";
    }

    private String name(Member member) {
        return "m" + member.number;
    }

    private void start(int number, String state) throws IOException {
        Member member = members.get(number);
        String scheme = options.contains("--cert-file") ? "https" : "http";
        List<String> command =
                new ArrayList<>(
                        List.of(
                                program(),
                                "--name",
                                name(member),
                                "--data-dir",
                                folder.resolve(name(member) + "." + member.data).toString(),
                                "--listen-client-urls",
                                scheme + "://127.0.0.1:" + member.client,
                                "--advertise-client-urls",
                                scheme + "://127.0.0.1:" + member.client,
                                "--listen-peer-urls",
                                "http://127.0.0.1:" + member.peer,
                                "--initial-advertise-peer-urls",
                                "http://127.0.0.1:" + member.peer,
                                "--initial-cluster",
                                members.stream()
                                        .map(each -> name(each) + "=http://127.0.0.1:" + each.peer)
                                        .collect(Collectors.joining(",")),
                                "--initial-cluster-state",
                                state,
                                "--heartbeat-interval",
                                "100",
                                "--election-timeout",
                                "1000"));
        command.addAll(options);
        member.process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(
                                ProcessBuilder.Redirect.appendTo(
                                        folder.resolve(name(member) + ".log").toFile()))
                        .start();
    }

    private void awaitPort(int number) throws Exception {
        Member member = members.get(number);
        while (true) {
            try (Socket socket = new Socket("127.0.0.1", member.client)) {
                if (socket.isConnected()) {
                    return;
                }
            } catch (IOException e) {
                if (!member.process.isAlive()) {
                    throw new IllegalStateException(
                            "etcd has ended: "
                                    + Files.readString(folder.resolve(name(member) + ".log")));
                }
                TimeUnit.MILLISECONDS.sleep(50);
            }
        }
    }

    /** The number of members. */
    public int size() {
        return members.size();
    }

    /** Where a member is for a client of etcd. */
    public String endpoint(int number) {
        return "http://127.0.0.1:" + members.get(number).client;
    }

    /** The URL of a part of the store. */
    public String url(String prefix) {
        return "etcd://"
                + members.stream()
                        .map(each -> "127.0.0.1:" + each.client)
                        .collect(Collectors.joining(","))
                + "/"
                + prefix;
    }

    /** Kills a member. */
    public void kill(int number) throws InterruptedException {
        members.get(number).process.destroyForcibly().waitFor();
    }

    /** Starts a member again that was killed, with what it knew. */
    public void restart(int number) throws Exception {
        start(number, "existing");
        awaitPort(number);
    }

    /** Stops a member or lets it continue. */
    public void signal(int number, String signal) throws Exception {
        String pid = Long.toString(members.get(number).process.pid());
        new ProcessBuilder("kill", "-" + signal, pid).start().waitFor();
    }

    /** Whether a member is the leader, by its own metrics. */
    public boolean leads(int number) throws IOException {
        return get(members.get(number).client, "/metrics").contains("etcd_server_is_leader 1");
    }

    /** The number of the leader, or -1. */
    public int leader() throws IOException {
        for (int i = 0; i < members.size(); i++) {
            if (members.get(i).process.isAlive() && leads(i)) {
                return i;
            }
        }
        return -1;
    }

    private static String get(int port, String path) throws IOException {
        HttpURLConnection connection =
                (java.net.HttpURLConnection)
                        URI.create("http://127.0.0.1:" + port + path).toURL().openConnection();
        connection.setConnectTimeout(2_000);
        connection.setReadTimeout(2_000);
        return new String(connection.getInputStream().readAllBytes());
    }

    /** Removes a killed member from the cluster, and adds an empty one in its place. */
    public void replace(int number) throws Exception {
        Member member = members.get(number);
        URI peer = URI.create("http://127.0.0.1:" + member.peer);
        URI[] others =
                members.stream()
                        .filter(each -> each != member)
                        .map(each -> URI.create("http://127.0.0.1:" + each.client))
                        .toArray(URI[]::new);
        try (Client client = Client.builder().endpoints(others).build()) {
            Cluster cluster = client.getClusterClient();
            Optional<Long> id = id(cluster, peer, true);
            again(() -> cluster.removeMember(id.orElseThrow()), () -> id(cluster, peer, true));
            again(() -> cluster.addMember(List.of(peer)), () -> id(cluster, peer, false));
        }
        member.data++;
        start(number, "existing");
        awaitPort(number);
    }

    /** The id of the member there; empty if there is none, or if it is there as it should. */
    private static Optional<Long> id(Cluster cluster, URI peer, boolean shouldGo) throws Exception {
        Optional<Long> found =
                cluster.listMember().get(30, TimeUnit.SECONDS).getMembers().stream()
                        .filter(each -> each.getPeerURIs().contains(peer))
                        .map(each -> each.getId())
                        .findFirst();
        return shouldGo ? found : found.isPresent() ? Optional.empty() : Optional.of(0L);
    }

    /** etcd changes its members only when the others have known each other for a while. */
    private static void again(Callable<? extends Future<?>> change, Callable<Optional<Long>> isLeft)
            throws Exception {
        for (int tries = 0; true; tries++) {
            try {
                if (isLeft.call().isEmpty()) {
                    return;
                }
                change.call().get(10, TimeUnit.SECONDS);
            } catch (ExecutionException | TimeoutException e) {
                if (tries == 30) {
                    throw e;
                }
                TimeUnit.SECONDS.sleep(1);
            }
        }
    }

    /** Returns the number of keys that begin so. */
    public long keys(String prefix) throws Exception {
        try (Client client =
                Client.builder().endpoints("http://127.0.0.1:" + members.get(0).client).build()) {
            GetOption all = GetOption.builder().isPrefix(true).withCountOnly(true).build();
            return client.getKVClient()
                    .get(ByteSequence.from(prefix, StandardCharsets.UTF_8), all)
                    .get(30, TimeUnit.SECONDS)
                    .getCount();
        }
    }

    @Override
    public void close() {
        for (Member each : members) {
            if (each.process != null) {
                each.process.destroyForcibly();
            }
        }
    }
}
