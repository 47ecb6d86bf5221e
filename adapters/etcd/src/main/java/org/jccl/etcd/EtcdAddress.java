package org.jccl.etcd;

import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * The members of an etcd cluster, the part of its keys that a store has, and how to connect.
 *
 * @param hosts {@code host:port} of each member
 * @param prefix the text before all keys; empty for none
 * @param certificates the files of TLS, if it is used
 * @param user name and password, if there are any
 * @param life how long the keys outlive the last client
 */
record EtcdAddress(
        List<String> hosts,
        String prefix,
        Optional<Certificates> certificates,
        Optional<User> user,
        Duration life) {

    private static final Pattern URL =
            Pattern.compile("etcd://([^/?#]*)(?:/([^?#]*))?(?:\\?([^#]*))?");

    private static final Pattern HOST =
            Pattern.compile("(?:\\[[0-9A-Fa-f:.%\\w]+]|[^:\\[\\]\\s\\p{Cntrl}]+):([0-9]{1,5})");

    private static final int HIGHEST_PORT = 65535;

    /** Those of init methods, which say nothing about etcd. */
    private static final List<String> OTHERS = List.of("rank", "world_size");

    /**
     * The files of TLS, as of {@code etcdctl}.
     *
     * @param authorities certificates of the authorities
     * @param certificate of this client, if the members ask for one
     * @param key its private key
     */
    record Certificates(File authorities, Optional<File> certificate, Optional<File> key) {}

    /**
     * A user of etcd.
     *
     * @param name the name
     * @param password the password; empty for none
     */
    record User(String name, String password) {

        @Override
        public String toString() {
            return name;
        }
    }

    /**
     * Reads a URL.
     *
     * @param variables of the process; those of {@code etcdctl} count where the URL says nothing
     * @throws UsageException if it is none of etcd
     */
    static EtcdAddress parse(String url, Map<String, String> variables) {
        if (url == null) {
            throw new UsageException(FailureContext.NONE, "the URL of the etcd store is null");
        }
        Matcher parts = URL.matcher(url);
        if (!parts.matches()) {
            throw bad(url, "it is not of the form etcd://host:port,host:port/prefix");
        }
        List<String> hosts = new ArrayList<>();
        for (String host : parts.group(1).split(",", -1)) {
            Matcher member = HOST.matcher(host);
            if (!member.matches()
                    || Integer.parseInt(member.group(1)) > HIGHEST_PORT
                    || Integer.parseInt(member.group(1)) < 1) {
                throw bad(url, "'" + host + "' is not host:port, such as host1:2379");
            }
            hosts.add(host);
        }
        Map<String, String> options = options(url, parts.group(3));
        Optional<File> authorities = file(option("cacert", options, variables));
        Optional<File> certificate = file(option("cert", options, variables));
        Optional<File> key = file(option("key", options, variables));
        if (certificate.isPresent() != key.isPresent()
                || certificate.isPresent() && authorities.isEmpty()) {
            throw bad(url, "cert and key must be given together, and with cacert");
        }
        Optional<User> user = option("user", options, variables).map(EtcdAddress::user);
        Duration life =
                option("ttl", options, variables)
                        .map(text -> life(url, text))
                        .orElse(Duration.ofSeconds(60));
        if (!options.isEmpty()) {
            throw bad(url, "it has the unknown options " + options.keySet());
        }
        return new EtcdAddress(
                List.copyOf(hosts),
                parts.group(2) == null ? "" : parts.group(2),
                authorities.map(file -> new Certificates(file, certificate, key)),
                user,
                life);
    }

    private static Duration life(String url, String text) {
        if (!text.matches("[1-9][0-9]{0,5}")) {
            throw bad(url, "ttl=" + text + " must be a number of seconds, at least 1");
        }
        return Duration.ofSeconds(Integer.parseInt(text));
    }

    private static Map<String, String> options(String url, String query) {
        Map<String, String> options = new TreeMap<>();
        for (String each : query == null ? new String[0] : query.split("&")) {
            int equals = each.indexOf('=');
            if (equals < 1) {
                throw bad(url, "the option '" + each + "' has no value");
            }
            options.put(each.substring(0, equals), each.substring(equals + 1));
        }
        options.keySet().removeAll(OTHERS);
        return options;
    }

    private static Optional<String> option(
            String name, Map<String, String> options, Map<String, String> variables) {
        String given = options.remove(name);
        String variable = variables.get("ETCDCTL_" + name.toUpperCase(Locale.ROOT));
        return Optional.ofNullable(given != null ? given : variable)
                .filter(text -> !text.isEmpty());
    }

    private static Optional<File> file(Optional<String> name) {
        name.ifPresent(
                path -> {
                    if (!new File(path).canRead()) {
                        throw new UsageException(
                                FailureContext.NONE, "the TLS file " + path + " cannot be read");
                    }
                });
        return name.map(File::new);
    }

    private static User user(String text) {
        int colon = text.indexOf(':');
        return colon < 0
                ? new User(text, "")
                : new User(text.substring(0, colon), text.substring(colon + 1));
    }

    private static UsageException bad(String url, String why) {
        String shown = url.replaceFirst("([?&]user=[^:&]*):[^&]*", "$1:...");
        return new UsageException(
                FailureContext.NONE,
                "the store's URL '%s' cannot be used: %s. Its options are cacert, cert, key, user and ttl; the first four default to the environment variables ETCDCTL_CACERT and so on"
                        .formatted(shown, why));
    }

    /** The host of the first member. */
    String firstHost() {
        String first = hosts.get(0);
        String host = first.substring(0, first.lastIndexOf(':'));
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    /** Where the store is, for messages. */
    @Override
    public String toString() {
        return "etcd://" + String.join(",", hosts) + "/" + prefix;
    }
}
