package org.jccl.internal.observe;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jccl.GroupInfo;
import org.jccl.UsageException;
import org.jccl.internal.operation.Observers;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.spi.PathSetting;

/** The observers of a world and of all groups made from it. */
public final class Observation implements AutoCloseable {

    private final Optional<ListenerThread> listeners;
    private final Optional<Path> records;
    private final Optional<Monitor> monitor;
    private final Duration timeout;

    /**
     * Starts the thread of the listeners and that of the monitor, if needed.
     *
     * @param name the world and rank, for the names of threads
     * @param timeout the deadline of an operation
     * @throws UsageException if this process cannot represent a folder that the environment names
     */
    public Observation(String name, List<Listener> wanted, Duration timeout) {
        this.timeout = timeout;
        this.records = folder(FlightRecorder.FOLDER_VARIABLE);
        Optional<Path> monitored = folder(Monitor.FOLDER_VARIABLE);
        this.listeners =
                wanted.isEmpty()
                        ? Optional.empty()
                        : Optional.of(new ListenerThread(name, List.copyOf(wanted)));
        try {
            this.monitor = monitored.map(folder -> new Monitor(folder, name));
        } catch (RuntimeException | Error e) {
            listeners.ifPresent(ListenerThread::close);
            throw e;
        }
    }

    private static Optional<Path> folder(String variable) {
        return Optional.ofNullable(System.getenv(variable))
                .filter(name -> !name.isEmpty())
                .map(name -> PathSetting.of("environment variable " + variable, name));
    }

    /**
     * Returns the observers of one group on one backend.
     *
     * @param onHost whether its library works on the host
     */
    public Observers of(GroupInfo group, boolean onHost) {
        List<OperationObserver> observers = new ArrayList<>();
        records.ifPresent(
                folder ->
                        observers.add(
                                new FlightRecorder(
                                        folder,
                                        group,
                                        onHost
                                                ? FlightRecorder.State.STARTED
                                                : FlightRecorder.State.SCHEDULED,
                                        timeout.toMillis())));
        if (hasJfr()) {
            observers.add(new JfrObserver(group));
        }
        monitor.ifPresent(each -> observers.add(each.watch(group)));
        listeners.ifPresent(
                thread ->
                        thread.listeners()
                                .forEach(
                                        each ->
                                                observers.add(
                                                        new ListenerObserver(
                                                                group, thread, each))));
        return Observers.of(group, observers);
    }

    /** A Java image may lack the module {@code jdk.jfr}. */
    private static boolean hasJfr() {
        try {
            Class.forName("jdk.jfr.Event", false, Observation.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** Waits for a moment until the listeners have handled all events. */
    @Override
    public void close() {
        listeners.ifPresent(ListenerThread::close);
        monitor.ifPresent(Monitor::close);
    }
}
