// Runs every case in processes of its own, under a deadline. What its ranks need to find one another, the id, is made
// by the process that starts them.
#pragma once
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

template <class Id>
struct ContextOf {
    int rank;
    int size;
    Id id;
};

template <class Id>
struct CaseOf {
    std::string name;
    /** Ranks as processes; each gets the same id. */
    int processes;
    std::vector<std::string> environment;
    std::function<void(const ContextOf<Id>&)> body;
    /** The signal the process has to end with, or 0. */
    int signal = 0;
    /** Added for one rank: "rank NAME=value". */
    std::vector<std::string> perRank = {};
};

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

#define EXPECT(expected, call)                                                                        \
    do {                                                                                              \
        int got_ = static_cast<int>(call);                                                            \
        if (got_ != static_cast<int>(expected)) {                                                     \
            std::fprintf(stderr, "%s:%d: %s gave %d, expected %d\n", __FILE__, __LINE__, #call, got_, \
                         static_cast<int>(expected));                                                 \
            std::exit(1);                                                                             \
        }                                                                                             \
    } while (0)

#define OK(call) EXPECT(0, call)

template <class Id>
class Runner {
public:
    using Case = CaseOf<Id>;

    /** "NAME" some cases, nothing all, "--run NAME RANK SIZE ID" one rank. `newId` is false when there is none. */
    static int main(int count, char** arguments, const std::vector<Case>& cases, bool (*newId)(Id*)) {
        if (count == 6 && std::strcmp(arguments[1], "--run") == 0) {
            for (const Case& test : cases) {
                if (test.name != arguments[2]) continue;
                test.body({std::atoi(arguments[3]), std::atoi(arguments[4]), decode(arguments[5])});
                // Workers are still running: static objects must not be destroyed under them.
                _exit(0);
            }
            return 1;
        }
        int failed = 0;
        int ran = 0;
        for (const Case& test : cases) {
            if (count > 1 && test.name.find(arguments[1]) == std::string::npos) continue;
            auto start = std::chrono::steady_clock::now();
            Id id;
            std::string problem = newId(&id) ? run(arguments[0], test, encode(id)) : "no id";
            auto time =
                std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
            std::printf("%-34s %5lld ms  %s%s\n", test.name.c_str(), static_cast<long long>(time),
                        problem.empty() ? "ok" : "FAILED", problem.c_str());
            std::fflush(stdout);
            ++ran;
            if (!problem.empty()) ++failed;
        }
        if (sharedObjects() != 0) {
            std::printf("shared memory objects were left behind\n");
            ++failed;
        }
        std::printf("%d cases, %d failed\n", ran, failed);
        return failed == 0 && ran > 0 ? 0 : 1;
    }

private:
    static constexpr auto deadline = std::chrono::seconds(20);

    static std::string encode(const Id& id) {
        std::string text;
        char digits[3];
        for (char byte : id.internal) {
            std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
            text += digits;
        }
        return text;
    }

    static Id decode(const std::string& text) {
        Id id{};
        for (size_t i = 0; i < sizeof id.internal; ++i) {
            id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
        }
        return id;
    }

    static pid_t start(const char* self, const Case& test, int rank, const std::string& id) {
        pid_t process = fork();
        if (process != 0) return process;
        for (const std::string& variable : test.environment) putenv(strdup(variable.c_str()));
        // Some cases end by abort on purpose.
        rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        std::string own = std::to_string(rank) + " ";
        for (const std::string& variable : test.perRank) {
            if (variable.compare(0, own.size(), own) == 0) putenv(strdup(variable.c_str() + own.size()));
        }
        std::string number = std::to_string(rank);
        std::string size = std::to_string(test.processes);
        execl(self, self, "--run", test.name.c_str(), number.c_str(), size.c_str(), id.c_str(), nullptr);
        _exit(127);
    }

    /** Empty when the case passed. */
    static std::string run(const char* self, const Case& test, const std::string& id) {
        std::vector<pid_t> processes;
        for (int rank = 0; rank < test.processes; ++rank) processes.push_back(start(self, test, rank, id));
        auto end = std::chrono::steady_clock::now() + deadline;
        std::string problem;
        size_t left = processes.size();
        while (left > 0) {
            for (size_t rank = 0; rank < processes.size(); ++rank) {
                int status = 0;
                if (processes[rank] == 0 || waitpid(processes[rank], &status, WNOHANG) == 0) continue;
                processes[rank] = 0;
                --left;
                bool fine = test.signal == 0 ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == test.signal;
                if (!fine) problem += " rank " + std::to_string(rank) + " ended with status " + std::to_string(status);
            }
            if (std::chrono::steady_clock::now() > end || !problem.empty()) {
                if (problem.empty()) problem = " deadline passed";
                for (pid_t process : processes) {
                    if (process == 0) continue;
                    kill(process, SIGKILL);
                    waitpid(process, nullptr, 0);
                }
                return problem;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return problem;
    }

    static int sharedObjects() {
        int count = 0;
        DIR* directory = opendir("/dev/shm");
        if (directory == nullptr) return 0;
        while (dirent* entry = readdir(directory)) {
            if (std::strncmp(entry->d_name, "mock", 4) == 0) ++count;
        }
        closedir(directory);
        return count;
    }
};
