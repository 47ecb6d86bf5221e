package org.jccl.training;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;

/**
 * A grid of the ranks of a group with named dimensions, like PyTorch's {@code DeviceMesh}. Ranks
 * are in row-major order: neighbors in the last dimension have consecutive ranks in the group. For
 * each dimension, a rank has a process group of the ranks that differ from it only in that
 * coordinate.
 *
 * <pre>{@code
 * // 16 ranks: 4 stages of a pipeline, each twice, each layer on 2 devices
 * DeviceMesh mesh = DeviceMesh.of(world, new int[] {4, 2, 2}, "pp", "dp", "tp");
 * ProcessGroup tensorParallel = mesh.group("tp");
 * }</pre>
 *
 * <p>{@link #of} and {@link #flatten} create the groups. All ranks must call them in the same
 * order. No other method waits for another rank. A dimension that contains all ranks uses the
 * original group, equal groups are created once, and a group of one rank is created on first use.
 * Slices share the groups of their mesh.
 *
 * <p>Thread-safe.
 */
public final class DeviceMesh implements AutoCloseable {

    /** One dimension, which consists of one or more dimensions of the grid. */
    private record Axis(String name, List<Integer> dimensions) {}

    private final Grid grid;
    private final List<Axis> axes;

    /** The state that a mesh shares with its slices. */
    private static final class Grid {

        private final ProcessGroup world;
        private final int[] shape;
        private final int[] mine;

        /** The groups by their ranks; guarded by this. */
        private final Map<List<Integer>, ProcessGroup> groups = new LinkedHashMap<>();

        /** Guarded by this. */
        private boolean closed;

        Grid(ProcessGroup world, int[] shape) {
            this.world = world;
            this.shape = shape;
            this.mine = coordinates(world.rank());
        }

        int[] coordinates(int rank) {
            int[] coordinates = new int[shape.length];
            for (int i = shape.length - 1; i >= 0; i--) {
                coordinates[i] = rank % shape[i];
                rank /= shape[i];
            }
            return coordinates;
        }

        int size(List<Integer> dimensions) {
            return dimensions.stream()
                    .mapToInt(dimension -> shape[dimension])
                    .reduce(1, (a, b) -> a * b);
        }

        /** Returns the index of a point among those that differ only in the given dimensions. */
        int place(int[] coordinates, List<Integer> dimensions) {
            int place = 0;
            for (int dimension : dimensions) {
                place = place * shape[dimension] + coordinates[dimension];
            }
            return place;
        }

        /** Returns the ranks that differ from a point in these dimensions only, row-major. */
        List<Integer> ranks(int[] point, List<Integer> dimensions) {
            List<Integer> ranks = new ArrayList<>();
            int[] coordinates = point.clone();
            for (int place = 0; place < size(dimensions); place++) {
                int rest = place;
                for (int i = dimensions.size() - 1; i >= 0; i--) {
                    int dimension = dimensions.get(i);
                    coordinates[dimension] = rest % shape[dimension];
                    rest /= shape[dimension];
                }
                ranks.add(place(coordinates, all()));
            }
            return ranks;
        }

        List<Integer> all() {
            List<Integer> all = new ArrayList<>();
            for (int i = 0; i < shape.length; i++) {
                all.add(i);
            }
            return all;
        }

        /** Creates the missing groups along the given dimensions, on all ranks. */
        synchronized void divide(List<Integer> dimensions) {
            requireOpen();
            List<Integer> members = ranks(mine, dimensions);
            if (members.size() == 1 || groups.containsKey(members)) {
                return;
            }
            List<Integer> others = new ArrayList<>(all());
            others.removeAll(dimensions);
            if (members.size() == world.size() && isInOrder(members)) {
                groups.put(members, world);
                return;
            }
            int color = place(mine, others);
            int key = place(mine, dimensions);
            groups.put(members, world.split(color, key).orElseThrow());
        }

        private static boolean isInOrder(List<Integer> ranks) {
            for (int i = 0; i < ranks.size(); i++) {
                if (ranks.get(i) != i) {
                    return false;
                }
            }
            return true;
        }

        synchronized ProcessGroup group(List<Integer> dimensions) {
            requireOpen();
            List<Integer> members = ranks(mine, dimensions);
            // A group of one rank needs no other rank; all other groups exist.
            return groups.computeIfAbsent(members, alone -> world.newGroup(alone).orElseThrow());
        }

        synchronized void requireOpen() {
            if (closed) {
                throw new UsageException(
                        FailureContext.ofGroup(world.name(), world.rank()),
                        "the mesh is closed, and its groups with it");
            }
        }

        synchronized void close() {
            closed = true;
            List<ProcessGroup> made = new ArrayList<>(groups.values());
            groups.clear();
            RuntimeException first = null;
            for (int i = made.size() - 1; i >= 0; i--) {
                try {
                    if (made.get(i) != world) {
                        made.get(i).close();
                    }
                } catch (RuntimeException e) {
                    first = first == null ? e : first;
                }
            }
            if (first != null) {
                throw first;
            }
        }
    }

    private DeviceMesh(Grid grid, List<Axis> axes) {
        this.grid = grid;
        this.axes = axes;
    }

    /**
     * Arranges all ranks of a group in a grid and creates the groups along each dimension. All
     * ranks must call it with the same arguments.
     *
     * @param group the group; the caller keeps ownership and must keep it open as long as the mesh
     *     is used
     * @param shape the size of each dimension; the product must be the size of the group
     * @param names the names of the dimensions, all different
     * @return the mesh, which the caller must close before the group
     * @throws UsageException if an argument is null or empty, a size is less than 1, a name appears
     *     twice, or the product is not the size of the group
     * @throws DifferentModelsException if ranks passed different shapes or names; all ranks throw
     *     it
     * @throws JcclException if a group cannot be created
     */
    public static DeviceMesh of(ProcessGroup group, int[] shape, String... names) {
        if (group == null || shape == null || names == null) {
            throw new UsageException(
                    FailureContext.NONE,
                    (group == null ? "group" : shape == null ? "shape" : "names") + " is null");
        }
        int[] sizes = shape.clone();
        List<String> dimensions = Arrays.asList(names.clone());
        check(group, sizes, dimensions);
        requireSame(group, "shape " + Arrays.toString(sizes) + ", names " + dimensions);
        Grid grid = new Grid(group, sizes);
        List<Axis> axes = new ArrayList<>();
        for (int i = 0; i < sizes.length; i++) {
            axes.add(new Axis(dimensions.get(i), List.of(i)));
        }
        DeviceMesh mesh = new DeviceMesh(grid, List.copyOf(axes));
        try {
            axes.forEach(axis -> grid.divide(axis.dimensions()));
            return mesh;
        } catch (RuntimeException | Error e) {
            mesh.close();
            throw e;
        }
    }

    /**
     * Checks that all ranks have the same mesh. Otherwise they would silently reduce unrelated
     * tensors.
     */
    private static void requireSame(ProcessGroup group, String mesh) {
        ModelCheck.requireSame(
                group,
                group.devices().get(0),
                List.of(mesh.replace('\n', ' ')),
                "all ranks must make the same mesh");
    }

    private static void check(ProcessGroup group, int[] sizes, List<String> names) {
        FailureContext context = FailureContext.ofGroup(group.name(), group.rank());
        if (sizes.length == 0 || sizes.length != names.size()) {
            throw new UsageException(
                    context,
                    "the shape "
                            + Arrays.toString(sizes)
                            + " must have at least one dimension, and a name for each, got "
                            + names);
        }
        Set<String> seen = new HashSet<>();
        long product = 1;
        for (int i = 0; i < sizes.length; i++) {
            if (names.get(i) == null || names.get(i).isEmpty() || !seen.add(names.get(i))) {
                throw new UsageException(
                        context, "names of dimensions must be different and not empty: " + names);
            }
            product = sizes[i] < 1 || product > group.size() ? -1 : product * sizes[i];
        }
        if (product != group.size()) {
            throw new UsageException(
                    context,
                    "a mesh must have one point for each rank of the group; the shape "
                            + Arrays.toString(sizes)
                            + " does not fit the number of ranks, "
                            + group.size());
        }
    }

    /**
     * Returns the names of the dimensions.
     *
     * @return the names in order
     */
    public List<String> names() {
        return axes.stream().map(Axis::name).toList();
    }

    /**
     * Returns the sizes of the dimensions.
     *
     * @return the sizes in order
     */
    public int[] shape() {
        return axes.stream().mapToInt(axis -> grid.size(axis.dimensions())).toArray();
    }

    /**
     * Returns the number of ranks in this mesh.
     *
     * @return the product of the sizes
     */
    public int size() {
        return Arrays.stream(shape()).reduce(1, (a, b) -> a * b);
    }

    /**
     * Returns the size of a dimension.
     *
     * @param name the name of the dimension
     * @return the number of ranks along it
     * @throws UsageException if there is no such dimension
     */
    public int size(String name) {
        return grid.size(axis(name).dimensions());
    }

    /**
     * Returns this rank's coordinate, which is its rank in {@link #group(String)}.
     *
     * @param name the name of the dimension
     * @return the coordinate, 0 or more
     * @throws UsageException if there is no such dimension
     */
    public int coordinate(String name) {
        return grid.place(grid.mine, axis(name).dimensions());
    }

    /**
     * Returns this rank's coordinates.
     *
     * @return the coordinates in the order of the dimensions
     */
    public int[] coordinates() {
        return axes.stream().mapToInt(axis -> grid.place(grid.mine, axis.dimensions())).toArray();
    }

    /**
     * Returns this rank's group along a dimension.
     *
     * @param name the name of the dimension
     * @return the group, which the mesh owns
     * @throws UsageException if there is no such dimension, or the mesh is closed
     * @throws JcclException if a group of only this rank cannot be created
     */
    public ProcessGroup group(String name) {
        return grid.group(axis(name).dimensions());
    }

    /**
     * Returns the ranks of this mesh. For a slice, these are the ranks that share the slice with
     * this rank.
     *
     * @return the ranks in the original group, in row-major order
     */
    public List<Integer> ranks() {
        return grid.ranks(grid.mine, dimensions());
    }

    /**
     * Returns the ranks of each group along a dimension of this mesh.
     *
     * @param name the name of the dimension
     * @return the ranks in the original group
     * @throws UsageException if there is no such dimension
     */
    public List<List<Integer>> groups(String name) {
        List<Integer> along = axis(name).dimensions();
        List<List<Integer>> groups = new ArrayList<>();
        for (int rank : ranks()) {
            int[] point = grid.coordinates(rank);
            if (grid.place(point, along) == 0) {
                groups.add(grid.ranks(point, along));
            }
        }
        return groups;
    }

    /**
     * Returns the part of the mesh that contains this rank and has only the given dimensions.
     * Creates no groups.
     *
     * @param names the names of the dimensions, in the order of this mesh
     * @return a mesh of those dimensions, which is closed together with this one
     * @throws UsageException if there is no such dimension, or the order differs
     */
    public DeviceMesh slice(String... names) {
        return new DeviceMesh(grid, chosen(names));
    }

    private List<Axis> chosen(String... names) {
        if (names == null || names.length == 0) {
            throw usage("no dimension is given; this is " + this);
        }
        List<Axis> chosen = new ArrayList<>();
        for (String name : names) {
            chosen.add(axis(name));
        }
        int last = -1;
        for (Axis axis : chosen) {
            if (axes.indexOf(axis) <= last) {
                throw usage(
                        "dimensions "
                                + Arrays.toString(names)
                                + " are not in the order of "
                                + this);
            }
            last = axes.indexOf(axis);
        }
        return List.copyOf(chosen);
    }

    /**
     * Combines several dimensions into one and creates the group along it, for example the group of
     * all ranks with the same parameters. All ranks of the original group must call it with the
     * same arguments.
     *
     * @param name the name of the new dimension
     * @param names the names of the dimensions to combine, in the order of this mesh
     * @return a mesh of only the new dimension, which is closed together with this one
     * @throws UsageException if there is no such dimension, the order differs, the name is null or
     *     empty, or the mesh is closed
     * @throws DifferentModelsException if ranks flatten different dimensions; all ranks throw it
     * @throws JcclException if the group cannot be created
     */
    public DeviceMesh flatten(String name, String... names) {
        if (name == null || name.isEmpty()) {
            throw usage("the name of the new dimension is " + (name == null ? "null" : "empty"));
        }
        List<Integer> dimensions =
                chosen(names).stream().flatMap(axis -> axis.dimensions().stream()).toList();
        grid.requireOpen();
        requireSame(grid.world, "dimension '" + name + "' of " + dimensions);
        grid.divide(dimensions);
        return new DeviceMesh(grid, List.of(new Axis(name, dimensions)));
    }

    private List<Integer> dimensions() {
        return axes.stream().flatMap(axis -> axis.dimensions().stream()).toList();
    }

    private Axis axis(String name) {
        for (Axis axis : axes) {
            if (axis.name().equals(name)) {
                return axis;
            }
        }
        throw usage("there is no dimension '" + name + "' in " + this);
    }

    private UsageException usage(String message) {
        return new UsageException(
                FailureContext.ofGroup(grid.world.name(), grid.world.rank()), message);
    }

    /**
     * Closes the groups that the mesh and its slices created. Idempotent.
     *
     * @throws JcclException as {@link ProcessGroup#close} does
     */
    @Override
    public void close() {
        grid.close();
    }

    /** Returns a description such as {@code mesh pp=4 x dp=2 x tp=2}. */
    @Override
    public String toString() {
        List<String> sizes = new ArrayList<>();
        for (Axis axis : axes) {
            sizes.add(axis.name() + "=" + grid.size(axis.dimensions()));
        }
        return "mesh " + String.join(" x ", sizes);
    }
}
