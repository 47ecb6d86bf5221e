package org.jccl.conformance.inmemory;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Runs a collective for all its ranks at once. */
final class Collectives {

    private Collectives() {}

    static void run(Call[] calls) {
        Call any = calls[0];
        int size = calls.length;
        switch (any.kind) {
            case BROADCAST -> {
                byte[] bytes = calls[any.peer].read(0, any.count);
                Arrays.stream(calls).forEach(call -> call.write(bytes));
            }
            case ALL_REDUCE -> {
                byte[] bytes = reduced(calls, 0, any.count);
                Arrays.stream(calls).forEach(call -> call.write(bytes));
            }
            case REDUCE -> calls[any.peer].write(reduced(calls, 0, any.count));
            case ALL_GATHER -> {
                byte[] bytes = gathered(calls);
                Arrays.stream(calls).forEach(call -> call.write(bytes));
            }
            case ALL_GATHER_V -> {
                byte[] bytes = gathered(calls);
                Arrays.stream(calls).forEach(call -> call.write(bytes));
            }
            case GATHER -> calls[any.peer].write(gathered(calls));
            case SCATTER -> {
                byte[] bytes = calls[any.peer].read(0, any.count * size);
                int part = bytes.length / size;
                for (int i = 0; i < size; i++) {
                    calls[i].write(bytes, i * part, part, 0);
                }
            }
            case REDUCE_SCATTER, REDUCE_SCATTER_V -> {
                long[] counts = any.inputCounts != null ? any.inputCounts : equal(calls);
                List<byte[]> results =
                        IntStream.range(0, size)
                                .mapToObj(i -> reduced(calls, offset(counts, i), counts[i]))
                                .toList();
                for (int i = 0; i < size; i++) {
                    calls[i].write(results.get(i));
                }
            }
            case ALL_TO_ALL, ALL_TO_ALL_V -> allToAll(calls);
            default -> {}
        }
    }

    private static void allToAll(Call[] calls) {
        List<byte[]> inputs =
                Arrays.stream(calls)
                        .map(call -> call.read(0, sum(counts(call.inputCounts, calls))))
                        .toList();
        for (Call receiver : calls) {
            long at = 0;
            for (Call sender : calls) {
                long[] sent = counts(sender.inputCounts, calls);
                int unit = sender.type.size();
                receiver.write(
                        inputs.get(sender.rank),
                        (int) offset(sent, receiver.rank) * unit,
                        (int) sent[receiver.rank] * unit,
                        at);
                at += sent[receiver.rank];
            }
        }
    }

    private static long[] counts(long[] given, Call[] calls) {
        return given != null ? given : equal(calls);
    }

    private static long[] equal(Call[] calls) {
        return IntStream.range(0, calls.length).mapToLong(i -> calls[0].count).toArray();
    }

    private static long offset(long[] counts, int part) {
        return Arrays.stream(counts, 0, part).sum();
    }

    private static long sum(long[] counts) {
        return Arrays.stream(counts).sum();
    }

    private static byte[] reduced(Call[] calls, long offset, long count) {
        List<byte[]> inputs = Arrays.stream(calls).map(call -> call.read(offset, count)).toList();
        return Reducer.reduce(calls[0].type, calls[0].op, inputs);
    }

    private static byte[] gathered(Call[] calls) {
        List<byte[]> parts =
                Arrays.stream(calls)
                        .map(
                                call ->
                                        call.read(
                                                0,
                                                call.outputCounts == null
                                                        ? call.count
                                                        : call.outputCounts[call.rank]))
                        .toList();
        byte[] all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }
}
