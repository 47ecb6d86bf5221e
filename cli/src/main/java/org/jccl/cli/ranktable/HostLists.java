package org.jccl.cli.ranktable;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableBuilder;
import org.jccl.ranktable.RankTableFormat;

/**
 * Makes a table from lists with a part for each host. Parts have a slash between them, items a
 * comma.
 */
final class HostLists {

    private static final Pattern RANGE = Pattern.compile("([0-9]{1,6})-([0-9]{1,6})");

    /** Layer, ports, plane, network and addresses. */
    private static final Pattern LAYER =
            Pattern.compile("([0-9]):([^:=]+)(?::([^:=]+)(?::([^:=]+))?)?=(.*)");

    private final List<String> hosts;
    private final List<List<String>> devices;

    /**
     * Reads the devices.
     *
     * @param devices such as {@code 0-3,6}; one part for all hosts or one for each
     * @param hosts names of the hosts, or null where they have none
     * @throws IllegalArgumentException if there are not as many parts as hosts
     */
    HostLists(String devices, List<String> hosts) {
        List<List<String>> parts = new ArrayList<>();
        for (List<String> part : split(devices)) {
            parts.add(part.stream().flatMap(item -> expand(item).stream()).toList());
        }
        this.hosts = hosts == null ? parts.stream().map(part -> "").toList() : hosts;
        this.devices = parts.size() == 1 ? repeat(parts.get(0)) : parts;
        mustBe(this.hosts.size(), this.devices.size(), "--devices", "hosts");
    }

    private List<List<String>> repeat(List<String> part) {
        return hosts.stream().map(host -> part).toList();
    }

    private static List<List<String>> split(String text) {
        List<List<String>> parts = new ArrayList<>();
        for (String part : text.split("/", -1)) {
            parts.add(List.of(part.split(",", -1)));
        }
        return parts;
    }

    /** Puts the numbers of a range in its place. */
    private static List<String> expand(String item) {
        Matcher range = RANGE.matcher(item);
        if (!range.matches()) {
            return List.of(item);
        }
        int first = Integer.parseInt(range.group(1));
        int last = Integer.parseInt(range.group(2));
        if (first > last) {
            throw new IllegalArgumentException(
                    item + " goes backwards: name the devices one by one");
        }
        List<String> numbers = new ArrayList<>();
        for (int number = first; number <= last; number++) {
            numbers.add(Integer.toString(number));
        }
        return numbers;
    }

    private static void mustBe(int wanted, int count, String option, String what) {
        if (count != wanted) {
            throw new IllegalArgumentException(
                    option + " is for " + count + " " + what + ", but there are " + wanted);
        }
    }

    /**
     * Makes a table.
     *
     * @param ips an address for each device, or null
     * @param superPods a super pod for each host or one for all, or null
     * @param superDevices a number in its super pod for each device, or null
     * @param layers texts of --layer, or null
     * @throws IllegalArgumentException if a list does not fit
     */
    RankTable table(
            RankTableFormat format,
            String ips,
            List<String> superPods,
            String superDevices,
            List<String> layers,
            boolean emulator) {
        List<List<String>> addresses = forDevices("--device-ips", ips);
        List<List<String>> numbers = forDevices("--super-devices", superDevices);
        List<Layer> networks =
                layers == null ? List.of() : layers.stream().map(this::layer).toList();
        if (superPods != null && superPods.size() > 1) {
            mustBe(hosts.size(), superPods.size(), "--super-pods", "hosts");
        }
        RankTableBuilder table = RankTable.builder(format).emulator(emulator);
        for (int host = 0; host < hosts.size(); host++) {
            if (superPods != null) {
                table.superPod(superPods.get(superPods.size() == 1 ? 0 : host));
            }
            table.node(hosts.get(host));
            List<String> list = devices.get(host);
            for (int i = 0; i < list.size(); i++) {
                int device = ScclTool.device(list.get(i));
                String[] ip =
                        addresses == null
                                ? new String[0]
                                : new String[] {addresses.get(host).get(i)};
                if (numbers == null) {
                    table.device(device, ip);
                } else {
                    table.superDevice(device, superDevice(numbers.get(host).get(i)), ip);
                }
                for (Layer layer : networks) {
                    table.address(
                            layer.number,
                            layer.network.orElse(hosts.get(host)),
                            layer.plane,
                            layer.addresses.get(host).get(i),
                            layer.ports);
                }
            }
        }
        return table.build();
    }

    /** An address for each device in a layer; the network may be that of its host. */
    private record Layer(
            int number,
            String[] ports,
            String plane,
            Optional<String> network,
            List<List<String>> addresses) {}

    private Layer layer(String text) {
        Matcher matcher = LAYER.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "--layer " + text + ": give LAYER:PORTS[:PLANE[:NETWORK]]=LIST");
        }
        int number = Integer.parseInt(matcher.group(1));
        Optional<String> network = Optional.ofNullable(matcher.group(4));
        return new Layer(
                number,
                matcher.group(2).split("[+]", -1),
                matcher.group(3) == null ? "0" : matcher.group(3),
                number == 0 ? network : network.or(() -> Optional.of("layer" + number)),
                forDevices("--layer " + text, matcher.group(5)));
    }

    private static long superDevice(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + text + "' is not a device number", e);
        }
    }

    private List<List<String>> forDevices(String option, String text) {
        if (text == null) {
            return null;
        }
        List<List<String>> parts = split(text);
        mustBe(hosts.size(), parts.size(), option, "hosts");
        for (int host = 0; host < parts.size(); host++) {
            mustBe(
                    devices.get(host).size(),
                    parts.get(host).size(),
                    option,
                    "devices of host " + host);
        }
        return parts;
    }
}
