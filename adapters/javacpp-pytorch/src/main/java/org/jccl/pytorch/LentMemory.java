package org.jccl.pytorch;

import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DataPtr;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.LongArrayRef;
import org.bytedeco.pytorch.PointerConsumer;
import org.bytedeco.pytorch.Storage;
import org.bytedeco.pytorch.StorageImpl;
import org.bytedeco.pytorch.StringOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorMaker;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The memory of a JCCL tensor that a storage of PyTorch has. The tensor is reachable until PyTorch
 * frees the storage. A view of a tensor that was closed rejects every access.
 */
final class LentMemory {

    /** By the number that PyTorch has as the context of the memory. Guarded by itself. */
    private static final Map<Long, LentMemory> LENT = new HashMap<>();

    private static long last;

    /** Static, because PyTorch may free a storage at any time, in any thread. */
    private static final PointerConsumer FREED =
            TorchTensors.keep(
                    new PointerConsumer() {
                        @Override
                        public void call(Pointer number) {
                            freed(number.address());
                        }
                    });

    private final org.jccl.Tensor tensor;

    /** Of a view; exists until PyTorch calls {@link #FREED}. Null if PyTorch rejected the view. */
    private StorageImpl storage;

    private final Runnable notClosing;

    private LentMemory(org.jccl.Tensor tensor, Runnable notClosing) {
        this.tensor = tensor;
        this.notClosing = notClosing;
    }

    /** Returns a tensor that rejects accesses after the JCCL tensor was closed. */
    static Tensor view(org.jccl.Tensor tensor, long[] sizes, TensorOptions options, Device device) {
        synchronized (LENT) {
            long number = ++last;
            Runnable notClosing = tensor.onClose(() -> closed(number));
            LentMemory lent = new LentMemory(tensor, notClosing);
            LENT.put(number, lent);
            try (Pointer memory = Address.of(tensor.address());
                    Pointer context = Address.of(number);
                    DeviceOptional target = new DeviceOptional(device);
                    LongPointer kept = new LongPointer(sizes); // the maker refers to it
                    LongArrayRef shape = new LongArrayRef(kept, sizes.length);
                    TensorMaker maker = torch.for_blob(memory, shape)) {
                Tensor view =
                        maker.context(context, FREED)
                                .target_device(target)
                                .options(options)
                                .make_tensor();
                try (Storage storage = view.storage()) {
                    lent.storage = storage.unsafeGetStorageImpl();
                }
                return view;
            }
        }
    }

    /** Returns the memory for a storage that takes other memory before the tensor is closed. */
    static DataPtr data(org.jccl.Tensor tensor, Device device) {
        synchronized (LENT) {
            LENT.put(++last, new LentMemory(tensor, () -> {}));
            try (Pointer memory = Address.of(tensor.address());
                    Pointer context = Address.of(last)) {
                return new DataPtr(memory, context, FREED, device);
            }
        }
    }

    private static void closed(long number) {
        synchronized (LENT) { // a storage that is being freed waits for this
            LentMemory lent = LENT.get(number);
            if (lent != null && lent.storage != null) {
                try (StringOptional message = new StringOptional(lent.tensor + " is closed")) {
                    lent.storage.release_data_and_set_meta_custom_data_ptr_error_msg_(message);
                }
            }
        }
    }

    private static void freed(long number) {
        synchronized (LENT) {
            LentMemory lent = LENT.remove(number);
            // Null if the tensor was closed while another thread freed the storage: both free it.
            if (lent != null) {
                lent.notClosing.run();
            }
        }
    }

    /** A pointer that owns nothing. */
    private static final class Address extends Pointer {

        static Pointer of(long address) {
            Address pointer = new Address();
            pointer.address = address;
            return pointer;
        }
    }
}
