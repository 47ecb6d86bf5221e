package org.jccl.gloo;

import java.util.List;

/**
 * What a rank tells its peers.
 *
 * @param host of the rank, to tell hosts apart
 * @param address on which it listens, numeric
 * @param onlyLocal whether no other host reaches that address
 * @param places for each rank the bytes to connect with, empty for the rank itself
 */
record Announcement(String host, String address, boolean onlyLocal, List<byte[]> places) {

    byte[] place(int rank) {
        return places.get(rank);
    }
}
