#include "group.h"

#include <algorithm>
#include <deque>
#include <thread>

#include "vendor.h"

namespace mock {

namespace {

/** What one stream operation runs; counts as captured for as long as a graph holds it. */
struct Batch {
    std::shared_ptr<Communicator> communicator;
    std::vector<Operation> operations;
    bool captured = false;

    ~Batch() {
        if (!captured) return;
        if (communicator->freed) fatal("a graph is destroyed after a communicator whose operations it captured");
        communicator->captured.fetch_sub(1);
    }
};

Result launchBatch(const std::shared_ptr<Batch>& batch, Stream& stream) {
    RuntimeLink& runtime = vendorRuntime();
    Result connected = batch->communicator->connect(batch->operations);
    if (connected != Result::Ok) return connected;
    if (runtime.isCaptured(stream)) {
        batch->captured = true;
        batch->communicator->captured.fetch_add(1);
    }
    auto task = [batch, &stream] {
        batch->communicator->run(batch->operations);
        int code = vendor().stoppedCode;
        int none = 0;
        if (code != 0 && batch->communicator->isStopped()) stream.error.compare_exchange_strong(none, code);
    };
    Status status = runtime.submit(stream, task, batch->communicator->order);
    return status == Status::Ok ? Result::Ok : Result::Runtime;
}

/** Sends of a rank to itself need as many receives of the same size. */
bool selfMessagesMatch(const Batch& batch) {
    std::vector<size_t> sent;
    std::vector<size_t> received;
    for (const Operation& operation : batch.operations) {
        if (!isPointToPoint(operation.kind) || operation.root != batch.communicator->rank) continue;
        (operation.kind == Kind::Send ? sent : received).push_back(operation.count * sizeOf(operation.type));
    }
    return sent == received;
}

/** All operations of one communicator are one stream operation; several streams meet before and after it. */
Result launchFor(const std::shared_ptr<Communicator>& communicator, const std::vector<Launch>& launches) {
    auto batch = std::make_shared<Batch>();
    batch->communicator = communicator;
    std::vector<Stream*> streams;
    for (const Launch& launch : launches) {
        if (launch.communicator != communicator) continue;
        batch->operations.push_back(launch.operation);
        if (std::find(streams.begin(), streams.end(), launch.stream) == streams.end()) streams.push_back(launch.stream);
    }
    if (!selfMessagesMatch(*batch)) return Result::InvalidUsage;
    RuntimeLink& runtime = vendorRuntime();
    for (size_t i = 1; i < streams.size(); ++i) {
        if (runtime.join(*streams[0], *streams[i]) != Status::Ok) return Result::Runtime;
    }
    Result result = launchBatch(batch, *streams[0]);
    for (size_t i = 1; i < streams.size() && result == Result::Ok; ++i) {
        if (runtime.join(*streams[i], *streams[0]) != Status::Ok) result = Result::Runtime;
    }
    return result;
}

Result runJobs(const std::vector<Job>& jobs) {
    if (jobs.size() == 1) return jobs[0].body();
    std::vector<Result> results(jobs.size(), Result::Ok);
    std::vector<std::thread> threads;
    // Each may wait for ranks that another one of them brings in.
    for (size_t i = 0; i < jobs.size(); ++i) threads.emplace_back([&, i] { results[i] = jobs[i].body(); });
    for (std::thread& thread : threads) thread.join();
    for (Result result : results) {
        if (result != Result::Ok) return result;
    }
    return Result::Ok;
}

Result perform(const std::vector<Job>& jobs, const std::vector<Launch>& launches) {
    Result result = jobs.empty() ? Result::Ok : runJobs(jobs);
    std::vector<Communicator*> seen;
    for (const Launch& launch : launches) {
        if (result != Result::Ok) break;
        if (std::find(seen.begin(), seen.end(), launch.communicator.get()) != seen.end()) continue;
        seen.push_back(launch.communicator.get());
        result = launchFor(launch.communicator, launches);
    }
    return result;
}

}  // namespace

Group& Group::current() {
    thread_local Group group;
    return group;
}

Result Group::add(Launch launch) {
    if (isOpen() || !launch.communicator->settings.blocking || isPointToPoint(launch.operation.kind)) {
        launches_.push_back(std::move(launch));
        return isOpen() ? Result::Ok : flush();
    }
    auto batch = std::make_shared<Batch>();
    batch->operations.push_back(launch.operation);
    batch->communicator = std::move(launch.communicator);
    return launchBatch(batch, *launch.stream);
}

Result Group::add(Job job) {
    jobs_.push_back(std::move(job));
    return isOpen() ? Result::Ok : flush();
}

void Group::discard() {
    launches_.clear();
    jobs_.clear();
}

Result Group::flush() {
    std::vector<Job> jobs = std::move(jobs_);
    std::vector<Launch> launches = std::move(launches_);
    discard();
    std::vector<std::shared_ptr<Communicator>> waiting;
    for (const Job& job : jobs) waiting.push_back(job.owner);
    for (const Launch& launch : launches) waiting.push_back(launch.communicator);
    bool blocking = std::all_of(waiting.begin(), waiting.end(), [](auto& c) { return c->settings.blocking; });
    if (blocking) {
        std::deque<Inside> visits;
        for (auto& communicator : waiting) visits.emplace_back(communicator);
        return perform(jobs, launches);
    }
    for (auto& communicator : waiting) {
        communicator->job = true;
        communicator->inProgress = true;
    }
    // A thread for each group, as the real libraries do: nothing issued here is on its stream when this returns.
    std::thread([jobs = std::move(jobs), launches = std::move(launches), waiting = std::move(waiting)] {
        Result result = perform(jobs, launches);
        for (auto& communicator : waiting) {
            if (result != Result::Ok) communicator->reportAsync(result);
            communicator->inProgress = false;
        }
    }).detach();
    return Result::InProgress;
}

}  // namespace mock
