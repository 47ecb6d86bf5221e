// What a library that is loaded into a JVM must leave alone. libucs takes SIGSEGV when it is opened, which the JVM needs
// for null checks; a foreign locale breaks native parsers of numbers.
#pragma once

#include <clocale>
#include <csignal>
#include <string>

namespace jccl {

// Puts back, when it goes, the signal handlers and the locale it found.
class ProcessState {
 public:
  ProcessState() : locale_(std::setlocale(LC_ALL, nullptr)) {
    for (int i = 0; i < kSignalCount; i++) {
      sigaction(kSignals[i], nullptr, &actions_[i]);
    }
  }

  ~ProcessState() {
    for (int i = 0; i < kSignalCount; i++) {
      sigaction(kSignals[i], &actions_[i], nullptr);
    }
    if (locale_ != std::setlocale(LC_ALL, nullptr)) {
      std::setlocale(LC_ALL, locale_.c_str());
    }
  }

  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

 private:
  static constexpr int kSignalCount = 9;
  static constexpr int kSignals[kSignalCount] = {
      SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPIPE, SIGQUIT, SIGINT, SIGTERM, SIGUSR2};

  struct sigaction actions_[kSignalCount];
  std::string locale_;
};

}  // namespace jccl
