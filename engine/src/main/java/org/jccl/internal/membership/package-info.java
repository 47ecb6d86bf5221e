/**
 * How ranks agree on who is in the next generation of a group.
 *
 * <p>A group has <em>slots</em>, one for each rank that it may have. Whoever is in a slot is a
 * <em>candidate</em> with a random id, so the process that replaces a lost one is another
 * candidate. Candidates make <em>attempts</em> with the numbers 0, 1, 2, ...; one attempt is open
 * at a time. An attempt that is made is a <em>generation</em>. The store has these keys:
 *
 * <table>
 * <caption>Keys</caption>
 * <tr><th>key</th><th>value</th><th>written by</th></tr>
 * <tr><td>{@code open}</td><td>the open attempt, and the last generation</td><td>compare-and-set,
 * which ends an attempt as made or not made</td></tr>
 * <tr><td>{@code N/here/SLOT}</td><td>the candidate's id, with a star if it was a member of the last
 * generation</td><td>each candidate of attempt N</td></tr>
 * <tr><td>{@code N/members}</td><td>slots and ids</td><td>compare-and-set of the first candidate
 * that may decide</td></tr>
 * <tr><td>{@code N/finished}</td><td>a count</td><td>each member that has formed the group</td></tr>
 * </table>
 *
 * <p>The moves of a candidate, see {@link org.jccl.internal.membership.Candidate}:
 *
 * <pre>
 * OPENING     read open                     -&gt; ANNOUNCING
 * ANNOUNCING  write N/here/SLOT             -&gt; GATHERING
 * GATHERING   read N/members                -&gt; FORMING if it is in, OUTSIDE if not, else COUNTING
 * COUNTING    read all N/here               -&gt; DECIDING if it may decide, else CHECKING, or
 *                                              DISPLACED if another candidate took its slot
 * CHECKING    read open                     -&gt; GATHERING, or ANNOUNCING if N has ended
 * DECIDING    compare-and-set N/members     -&gt; FORMING or OUTSIDE
 * FORMING     connect to the members        -&gt; REPORTING, or ABANDONING if that fails
 * REPORTING   add to N/finished             -&gt; CLAIMING if it is the last, else AWAITING
 * CLAIMING    compare-and-set open: made    -&gt; MADE, or ANNOUNCING if it was not made
 * AWAITING    read open                     -&gt; MADE, ANNOUNCING, or ABANDONING if the time is over
 * OUTSIDE     read open                     -&gt; ANNOUNCING, or ABANDONING if the time is over, or
 *                                              another candidate of its slot is a member
 * ABANDONING  compare-and-set open: not made -&gt; ANNOUNCING, or MADE if it was made
 * </pre>
 *
 * <p>A candidate may decide if all slots are taken, or if its time to wait is over, enough slots
 * are taken, and a member of the last generation is among the candidates, or all members of the
 * last generation have been replaced. So the last generation cannot make progress any more when the
 * next one is decided, and a newcomer alone never leaves behind ranks that still have the state of
 * the job.
 *
 * <p>{@code open} is never deleted. Keys of an attempt are deleted only when a later attempt has
 * been made; a candidate that is still in the old attempt finds that out at {@code open}.
 */
package org.jccl.internal.membership;
