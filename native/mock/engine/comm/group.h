// Operations and management calls that are issued as one; every lone call is a group of one.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "communicator.h"

namespace mock {

struct Launch {
    std::shared_ptr<Communicator> communicator;
    Stream* stream;
    Operation operation;
};

/** A management call that may block until other ranks make theirs; `owner` shows its progress. */
struct Job {
    std::shared_ptr<Communicator> owner;
    std::function<Result()> body;
};

class Group {
public:
    /** The calling thread's. */
    static Group& current();

    void start() { ++depth_; }
    bool isOpen() const { return depth_ > 0; }
    /** Leaves one level; true when it was the outermost. */
    bool leave() { return --depth_ == 0; }

    Result add(Launch launch);
    Result add(Job job);
    Result flush();
    void discard();

private:
    int depth_ = 0;
    std::vector<Launch> launches_;
    std::vector<Job> jobs_;
};

}  // namespace mock
