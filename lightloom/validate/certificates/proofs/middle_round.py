"""The middle round of an all-reduce: what must pass through it at once.

Of one chunk, let n ranks, s rounds before the middle one and s after it. Let a tiles
send nothing of it before the middle round, and b tiles receive nothing of it after: m1
>= n - a messages before, m3 >= n - b after. What one of the a has must reach each of
the b in the middle round directly, so m2 >= ab - min(a, b).
"""

from __future__ import annotations


def crowded_middle(ranks: int, lasers: int, chunks: int) -> int:
    """Return rounds that every all-reduce needs, or 0 where the middle one has room.

    `ranks`, `lasers`: tiles that take part, and lasers of each.

    *Three rounds*, L < n - 1, so that no tile knows all after one round, and none that
    first sends in the last round can reach all. So each of the b receives in the middle
    round, and each of the a sends: m2 >= max(a, b). If L <= n - 3, m1 + m2 + m3 is at
    least 2n - 4 + b: for b = 0 as m1 + m2 >= n; for a >= 2 by m2 >= ab - min(a, b);
    else m1 >= n - 1, and if t of the b receive one message in the middle round only, m2
    >= 2b - t. That is enough for t <= 3. Each of the t and the one it hears from have
    received n - 2 messages together, so all but two of the t have n - 2 - L each, and
    m1 >= n - 4 + t. With time turned around a stands for b. So 2 m1 + m2 + 2 m3 of a
    chunk is at least the least value over a and b, and of all chunks at most 5 L n.

    *2s + 1 rounds with no laser to spare*, C (2n - 2) = (2s + 1) L n for C chunks, and
    2 (1 + L)^(s - 1) < n. Each chunk takes 2n - 2 messages at least, so just as many.
    Let k tiles be the first that know all, after the same round. Until then it takes n
    - 1 messages for k = 1, and else n - 2 + k or more, no more only if two tiles that
    sent nothing before exchange what they have; then each other tile receives once.
    Nobody knows all after s - 1 rounds, nor do two tiles together, and those who know
    all at last cannot be told by two tiles in s - 1 rounds. So a chunk has one root,
    which knows all just before or just after the middle round, or two tiles that
    exchange in it. In the middle round, only the root sends in the first case, and only
    the root receives in the second. Each tile lacks at most s L chunks after it; it
    receives at most L in it. So a root that receives sums receives at most (s + 1) L -
    C more than it is root of chunks, and so does one that sends results send. With e
    chunks that are exchanged, at least n (C - s L) - C - e messages each are such sums
    and such results, and at most ((s + 1) L - C + 2) (C - e) together.
    """
    three = (
        lasers < ranks - 1
        and fewest_around_middle(ranks, lasers) * chunks > 5 * lasers * ranks
    )
    return max(4 * three, _tight(ranks, lasers, chunks))


def _tight(ranks: int, lasers: int, chunks: int) -> int:
    """Return rounds that are needed where fewer would leave no laser to spare, or 0."""
    rounds, spare = divmod(chunks * (2 * ranks - 2), lasers * ranks)
    half = rounds // 2
    if spare or rounds % 2 == 0 or half == 0 or 2 * (1 + lasers) ** (half - 1) >= ranks:
        return 0
    least = ranks * (chunks - half * lasers) - chunks
    more = max((half + 1) * lasers - chunks, 0)
    fits = any(
        2 * (least - pairs) <= (more + 2) * (chunks - pairs) for pairs in (0, chunks)
    )
    return 0 if fits else rounds + 1


def fewest_around_middle(ranks: int, lasers: int) -> int:
    """Return what 2 m1 + m2 + 2 m3 of a chunk is at least, over all a and b.

    `ranks`, `lasers`: tiles that take part, and lasers of each.
    """
    values = []
    # For a >= 3, 4n - 3a + b (a - 2) is least for a = b = 3.
    for a in range(min(ranks, 3) + 1):
        for b in range(a, ranks + 1):
            outside = 2 * ranks - a - b
            whole = outside + max(b, a * b - a)
            if lasers <= ranks - 3:
                whole = max(whole, 2 * ranks - 4 + b)
            values.append(whole + outside)
    return min(values)
