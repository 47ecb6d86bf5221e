// Messages from rank to rank.
#include <algorithm>
#include <cstring>

#include "bitops.h"
#include "works.h"

namespace emulator {

namespace {

/** One channel's part of a message. */
struct Part {
    bool any = false;
    size_t begin = 0;
    size_t end = 0;
};

Part partOf(int part, int parts, size_t bytes) {
    Part result;
    result.any = part < parts;
    if (result.any) ncclP2pPartBounds(parts, part, bytes, &result.begin, &result.end);
    return result;
}

/** At least one, also of no bytes. */
std::vector<Chunk> chunksOf(const Part& part, char* address, size_t chunkBytes, bool send) {
    std::vector<Chunk> chunks;
    size_t place = part.begin;
    do {
        size_t count = std::min(chunkBytes, part.end - place);
        chunks.push_back({send ? address + place : nullptr, send ? nullptr : address + place, !send, send, false, count});
        place += count;
    } while (place < part.end);
    return chunks;
}

}  // namespace

void messages(const Block& block, const ncclDevWorkP2p& work, Transfers& transfers) {
    constexpr int connection = 1;
    if (work.sendNetReg || work.recvNetReg || work.sendIpcReg || work.recvIpcReg) {
        refuse("registered buffers", "set NCCL_LOCAL_REGISTER=0, NCCL_GRAPH_REGISTER=0");
    }
    if ((work.nSendChannels > 0 && work.sendProtoLL) || (work.nRecvChannels > 0 && work.recvProtoLL)) {
        refuse("messages in the protocol LL", "set NCCL_P2P_LL_THRESHOLD=-1");
    }
    auto number = (block.channelId - work.channelBase) & (work.nP2pChannels - 1);
    Part sent = partOf(number, work.nSendChannels, work.sendBytes);
    Part received = partOf(number, work.nRecvChannels, work.recvBytes);
    auto from = static_cast<char*>(work.sendAddr), to = static_cast<char*>(work.recvAddr);
    if (work.sendRank == block.comm.rank) {
        size_t bytes = sent.end - sent.begin;
        if (bytes == 0 || from == to) return;
        std::memmove(view(to + sent.begin, bytes, "received by the rank itself"),
                     view(from + sent.begin, bytes, "sent to the rank itself"), bytes);
        return;
    }
    auto stepBytes = static_cast<size_t>(block.comm.p2pChunkSize);
    if (sent.any) {
        transfers.push_back(std::make_unique<Transfer>(
            nullptr, block.send(work.sendRank, connection), Slices(), stepBytes, Reduction(),
            chunksOf(sent, from, u32fp8Decode(work.sendChunkSize_u32fp8), true)));
    }
    if (received.any) {
        transfers.push_back(std::make_unique<Transfer>(
            block.receive(work.recvRank, connection), nullptr, Slices(), stepBytes, Reduction(),
            chunksOf(received, to, u32fp8Decode(work.recvChunkSize_u32fp8), false)));
    }
}

}  // namespace emulator
