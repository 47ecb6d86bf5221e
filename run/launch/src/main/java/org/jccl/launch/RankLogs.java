package org.jccl.launch;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The destinations of the ranks' output.
 *
 * @param folder folder of the log files, if they are kept
 * @param tee streams that go to a log file as well
 * @param redirects streams that go to a log file only
 * @param shown the local ranks whose output goes to the handler; empty for all
 */
record RankLogs(Optional<Path> folder, RankStreams tee, RankStreams redirects, Set<Integer> shown) {

    private static final RankStreams NO_STREAMS = new RankStreams(OutputStreams.NONE, Map.of());

    /** No log files, and all output goes to the handler. */
    static final RankLogs NONE = new RankLogs(Optional.empty(), NO_STREAMS, NO_STREAMS, Set.of());

    RankLogs {
        shown = Set.copyOf(shown);
    }

    /** Returns whether a stream has a log file. */
    boolean keeps(int localRank, boolean error) {
        return tee.include(localRank, error) || redirects.include(localRank, error);
    }

    /** Returns whether the handler gets the lines of a stream. */
    boolean shows(int localRank, boolean error) {
        return !redirects.include(localRank, error)
                && (shown.isEmpty() || shown.contains(localRank));
    }

    /**
     * Creates the folder of one job. Its name is the run id, with a number appended if that folder
     * exists, so that no job overwrites the files of another.
     *
     * @return the same logs in that folder
     * @throws LaunchException if the folder cannot be created
     */
    RankLogs ofJob(String runId) {
        if (folder.isEmpty()) {
            return this;
        }
        Path wanted = folder.get().resolve(runId);
        try {
            return new RankLogs(Optional.of(make(wanted)), tee, redirects, shown);
        } catch (IOException e) {
            throw LaunchException.of("the log folder " + wanted + " cannot be made: " + e, e);
        }
    }

    private static Path make(Path wanted) throws IOException {
        Files.createDirectories(wanted.toAbsolutePath().getParent());
        Path next = wanted;
        for (int number = 2; true; number++) {
            try {
                Files.createDirectory(next);
                break;
            } catch (FileAlreadyExistsException another) {
                next = wanted.resolveSibling(wanted.getFileName() + "." + number);
            }
        }
        if (!next.equals(wanted)) {
            System.getLogger(ProcessLauncher.class.getName())
                    .log(
                            Level.INFO,
                            "the logs of this job are in {0}, because {1} has the logs of another"
                                    + " job",
                            next,
                            wanted);
        }
        return next;
    }
}
