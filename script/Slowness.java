import java.util.concurrent.SynchronousQueue;

/** Hands numbers from thread to thread, which is what tests of several ranks wait for. */
class Slowness {

    private static final int HAND_OVERS = 20_000;

    public static void main(String[] arguments) throws InterruptedException {
        SynchronousQueue<Integer> there = new SynchronousQueue<>();
        SynchronousQueue<Integer> back = new SynchronousQueue<>();
        Thread other =
                new Thread(
                        () -> {
                            try {
                                for (int i = 0; i < HAND_OVERS; i++) {
                                    back.put(there.take());
                                }
                            } catch (InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                        });
        other.start();
        for (int i = 0; i < HAND_OVERS; i++) {
            there.put(i);
            back.take();
        }
        other.join();
    }
}
