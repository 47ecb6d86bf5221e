import java.nio.ByteBuffer;
import mpi.Intracomm;
import mpi.MPI;
import org.jccl.benchmarks.MpiPeer;

/** Open MPI's own Java bindings, with direct buffers. */
public final class OpenMpiJava implements MpiPeer {

    private Intracomm comm;

    @Override
    public void join() throws Exception {
        MPI.InitThread(new String[0], MPI.THREAD_MULTIPLE);
        comm = MPI.COMM_WORLD.dup();
        Runtime.getRuntime().addShutdownHook(new Thread(OpenMpiJava::leave));
    }

    private static void leave() {
        try {
            MPI.Finalize();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void allReduce(ByteBuffer data, int floats, int repetitions) throws Exception {
        for (int i = 0; i < repetitions; i++) {
            comm.allReduce(data, floats, MPI.FLOAT, MPI.SUM);
        }
    }

    @Override
    public void pingPong(ByteBuffer sent, ByteBuffer received, int floats, int repetitions)
            throws Exception {
        int rank = comm.getRank();
        for (int i = 0; i < repetitions; i++) {
            if (rank == 0) {
                comm.send(sent, floats, MPI.FLOAT, 1, 0);
                comm.recv(received, floats, MPI.FLOAT, 1, 0);
            } else if (rank == 1) {
                comm.recv(received, floats, MPI.FLOAT, 0, 0);
                comm.send(sent, floats, MPI.FLOAT, 0, 0);
            }
        }
    }
}
