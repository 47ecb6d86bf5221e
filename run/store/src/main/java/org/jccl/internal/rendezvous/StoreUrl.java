package org.jccl.internal.rendezvous;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.internal.checks.Require;
import org.jccl.spi.Services;
import org.jccl.spi.StoreProvider;

/**
 * The URL of a store that another artifact provides, {@code scheme://host:port,.../prefix?options}.
 *
 * @param text the URL
 * @param scheme in lower case
 * @param host of the first server
 * @param port of the first server
 */
public record StoreUrl(String text, String scheme, String host, int port) {

    private static final Pattern FORM =
            Pattern.compile(
                    "([A-Za-z][A-Za-z0-9+.-]*)://(?:\\[([^\\[\\]/?#,]+)]|([^\\[\\]:/?#,]+)):([0-9]{1,5})([,/?].*)?");

    /**
     * Reads a URL.
     *
     * @throws UsageException if it is malformed
     */
    public static StoreUrl parse(String text) {
        Matcher parts = FORM.matcher(Require.nonNull(text, "URL of the store"));
        if (!parts.matches()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the URL of the store '%s' is not scheme://host:port/prefix, such as etcd://host1:2379,host2:2379/jobs"
                            .formatted(text));
        }
        String host = parts.group(2) == null ? parts.group(3) : parts.group(2);
        return new StoreUrl(
                text,
                parts.group(1).toLowerCase(Locale.ROOT),
                host,
                Integer.parseInt(parts.group(4)));
    }

    /** Returns the URL of a part of the store. No other part sees its keys. */
    public StoreUrl below(String part) {
        int query = text.indexOf('?');
        String place = query < 0 ? text : text.substring(0, query);
        String options = query < 0 ? "" : text.substring(query);
        String slash = place.endsWith("/") ? "" : "/";
        return new StoreUrl(
                place + slash + part.replaceAll("[?#]", "_") + options, scheme, host, port);
    }

    private Optional<StoreProvider> provider() {
        return Services.of(
                        ServiceLoader.load(StoreProvider.class, StoreUrl.class.getClassLoader()),
                        ServiceLoader.load(StoreProvider.class))
                .stream()
                .filter(each -> each.scheme().equals(scheme))
                .findFirst();
    }

    /** Returns whether an artifact for the scheme is present. */
    public static boolean isProvided(String scheme) {
        return new StoreUrl("", scheme, "", 0).provider().isPresent();
    }

    /**
     * Connects to the store.
     *
     * @param timeout for connecting, and the timeout of the store
     * @throws BootstrapException if no artifact for the scheme is present
     * @throws org.jccl.StoreException if it cannot be reached in time
     */
    public Store connect(Duration timeout) {
        return provider()
                .orElseThrow(
                        () ->
                                new BootstrapException(
                                        FailureContext.NONE,
                                        "no provider for a store of '%s' is on the class path or module path: add the artifact org.jccl:jccl-%s (a fat jar must merge META-INF/services; the jccl command takes more jars from JCCL_CLASS_PATH)"
                                                .formatted(scheme, scheme)))
                .connect(text, timeout);
    }
}
