package org.jccl.gloo;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jccl.store.Store;
import org.jccl.store.StoreTimeoutException;

/** The few methods of a store that the binding calls, on files, for ranks in any process. */
final class DirectoryStore {

    private final Path directory;

    private DirectoryStore(Path directory) {
        this.directory = directory;
    }

    static Store in(Path directory) {
        DirectoryStore store = new DirectoryStore(directory);
        return (Store)
                Proxy.newProxyInstance(
                        Store.class.getClassLoader(),
                        new Class<?>[] {Store.class},
                        (proxy, method, args) -> store.call(method.getName(), args));
    }

    @SuppressWarnings("unchecked")
    private Object call(String method, Object[] args) throws IOException, InterruptedException {
        switch (method) {
            case "set":
                Path temporary = directory.resolve(UUID.randomUUID().toString());
                Files.write(temporary, (byte[]) args[1]);
                Files.move(temporary, file((String) args[0]), StandardCopyOption.ATOMIC_MOVE);
                return null;
            case "check":
                return ((List<String>) args[0]).stream().allMatch(key -> Files.exists(file(key)));
            case "await":
                long deadline = System.nanoTime() + ((Duration) args[1]).toNanos();
                while (!(boolean) call("check", new Object[] {args[0]})) {
                    if (System.nanoTime() > deadline) {
                        throw new StoreTimeoutException("keys " + args[0], null);
                    }
                    Thread.sleep(5); // polling files; nothing notifies
                }
                return null;
            case "multiGet":
                List<byte[]> values = new java.util.ArrayList<>();
                for (String key : (List<String>) args[0]) {
                    values.add(Files.readAllBytes(file(key)));
                }
                return values;
            default:
                throw new AssertionError("the binding is not known to call " + method);
        }
    }

    private Path file(String key) {
        return directory.resolve(key.replace('/', '_'));
    }
}
