package org.jccl.ranktable;

import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Pattern;

/** The types of addresses in HCCL 2.0, and their notation. */
enum AddressType {
    /** Of Huawei's bus between devices. */
    EID("32 hexadecimal digits"),
    IPV4("a numeric IPv4 address"),
    IPV6("a numeric IPv6 address");

    private static final Pattern DIGITS = Pattern.compile("[0-9a-fA-F]{32}");

    private final String form;

    AddressType(String form) {
        this.form = form;
    }

    static Optional<AddressType> named(String name) {
        return Arrays.stream(values()).filter(type -> type.name().equals(name)).findFirst();
    }

    /** The type of an address by its notation, or empty for none. */
    static Optional<AddressType> of(String address) {
        return Arrays.stream(values()).filter(type -> type.fits(address)).findFirst();
    }

    boolean fits(String address) {
        return switch (this) {
            case EID -> DIGITS.matcher(address).matches();
            case IPV4 -> Addresses.isIpv4(address);
            case IPV6 -> Addresses.isIpv6(address);
        };
    }

    /** The notation of such an address. */
    @Override
    public String toString() {
        return form;
    }
}
