import type { BooksReader, StoredEntry } from '../control/control-store.ts';

/** Entries of each concern that are in memory. */
const SLICE = 200;

/** An entry with its concern. */
export interface Recorded {
  readonly concernId: string;
  readonly entry: StoredEntry;
}

/** The entries of several concerns, each after a number, in the order in which they were recorded. Throws as `BooksReader`. */
export function* inOrder(
  books: Pick<BooksReader, 'after'>,
  after: ReadonlyMap<string, number>,
): Generator<Recorded, void, undefined> {
  const waiting = [...after].flatMap(([concernId, n]) => {
    const rest = entriesAfter(books, concernId, n);
    const first = rest.next();
    return first.done === true ? [] : [{ concernId, entry: first.value, rest }];
  });
  while (waiting.length > 0) {
    const first = waiting.reduce((a, b) => (timeOf(b.entry) < timeOf(a.entry) ? b : a));
    yield { concernId: first.concernId, entry: first.entry };
    const next = first.rest.next();
    if (next.done === true) waiting.splice(waiting.indexOf(first), 1);
    else first.entry = next.value;
  }
}

function* entriesAfter(
  books: Pick<BooksReader, 'after'>,
  concernId: string,
  n: number,
): Generator<StoredEntry, void, undefined> {
  for (let after = n; ; ) {
    const page = books.after(concernId, after, SLICE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < SLICE) return;
    after = last.n;
  }
}

/** RFC 3339 in UTC, so texts are in the order of their times. */
const timeOf = ({ entry }: StoredEntry): string => String(entry['recorded_at'] ?? '');
