package org.jccl.internal.backend;

import java.util.Optional;
import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.spi.BackendProvider;

/**
 * A backend for one device type.
 *
 * @param provider the binding
 * @param device where its tensors live
 * @param options the backend's options, or empty
 */
public record Backend(BackendProvider provider, Device device, Optional<BackendOptions> options) {

    /** Returns whether the library works on the host, while another binding drives the device. */
    public boolean isDrivenByOtherBinding() {
        return provider.deviceTypesOfOtherBindings().contains(device.type());
    }

    /** Returns whether the library takes host memory only, and tensors are copied through it. */
    public boolean isStaged() {
        return !provider.deviceTypes().contains(device.type()) && !isDrivenByOtherBinding();
    }

    /** Returns whether the library works on the host, even if the tensors are elsewhere. */
    public boolean worksOnHost() {
        return device.isCpu() || isDrivenByOtherBinding() || isStaged();
    }

    /** Returns the part of the store for its keys. A library may serve two types of devices. */
    public String storeName() {
        return isDrivenByOtherBinding() || isStaged()
                ? provider.name() + "-" + device.type()
                : provider.name();
    }
}
