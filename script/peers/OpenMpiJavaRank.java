import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;
import org.jccl.benchmarks.Peer;

/** Open MPI's own Java bindings, with direct buffers. */
public final class OpenMpiJavaRank implements Peer {

    private final Intracomm comm;
    private final int rank;
    private final int size;
    private int root;

    private interface Action {
        void run() throws MPIException;
    }

    public OpenMpiJavaRank() throws MPIException {
        MPI.Init(new String[0]);
        comm = MPI.COMM_WORLD;
        rank = comm.getRank();
        size = comm.getSize();
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public String version() throws MPIException {
        return MPI.getLibVersion().split(",")[0] + ", Java " + Runtime.version();
    }

    @Override
    public Call prepare(String operation, int input, int output) {
        root = 0;
        FloatBuffer in = allocate(input);
        FloatBuffer out = allocate(output);
        int part = input / size;
        Action action =
                switch (operation) {
                    case "all_reduce" -> () -> comm.allReduce(out, output, MPI.FLOAT, MPI.SUM);
                    case "broadcast" -> () -> comm.bcast(out, output, MPI.FLOAT, nextRoot());
                    case "reduce" -> () -> comm.reduce(out, output, MPI.FLOAT, MPI.SUM, nextRoot());
                    case "all_gather" -> () -> comm.allGather(in, input, MPI.FLOAT, out, input, MPI.FLOAT);
                    case "reduce_scatter" -> () -> comm.reduceScatterBlock(in, out, output, MPI.FLOAT, MPI.SUM);
                    case "all_to_all" -> () -> comm.allToAll(in, part, MPI.FLOAT, out, part, MPI.FLOAT);
                    case "barrier" -> comm::barrier;
                    case "sendrecv" ->
                            () -> {
                                if (rank == 0) {
                                    comm.send(in, input, MPI.FLOAT, 1, 0);
                                    comm.recv(out, output, MPI.FLOAT, 1, 0);
                                } else if (rank == 1) {
                                    comm.recv(out, output, MPI.FLOAT, 0, 0);
                                    comm.send(out, output, MPI.FLOAT, 0, 0);
                                }
                            };
                    default -> null;
                };
        return action == null ? null : new BufferCall(action, in, out);
    }

    private static FloatBuffer allocate(int floats) {
        return ByteBuffer.allocateDirect(floats * Float.BYTES).order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    private int nextRoot() {
        int next = root;
        root = (next + 1) % size;
        return next;
    }

    @Override
    public void close() {
        try {
            MPI.Finalize();
        } catch (MPIException e) {
            throw new IllegalStateException(e);
        }
    }

    private record BufferCall(Action action, FloatBuffer in, FloatBuffer out) implements Call {

        @Override
        public void run() throws MPIException {
            action.run();
        }

        @Override
        public void write(float[] input, float[] output) {
            in.put(0, input);
            out.put(0, output);
        }

        @Override
        public float[] output() {
            float[] values = new float[out.capacity()];
            out.get(0, values);
            return values;
        }

        @Override
        public void close() {
            // The garbage collector frees direct buffers.
        }
    }
}
