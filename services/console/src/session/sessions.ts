import type { Clock } from '@hermes-fleet/protocol/ports';
import { integer, type Queries, type Store, text } from '@hermes-fleet/store';
import { digestOf, newSecret } from './secrets.ts';

/** A session ends when it was not used for this time. */
const IDLE_MS = 12 * 3_600_000;
const MAX_SESSIONS = 50;
/** How often the use of a session is written. */
const WRITE_EVERY_MS = 60_000;

/** A person's token, as the entry profile has judged it. */
export interface HeldToken {
  readonly token: string;
  readonly caller: string;
  readonly scopes: readonly string[];
}

/** An open session. The token is in memory alone: after a restart of the console, the session has none. */
export interface Session {
  readonly digest: string;
  readonly csrfToken: string;
  held: HeldToken | undefined;
}

export interface Sessions {
  /** Opens a session and returns the value of its cookie. Beyond fifty, the one that was idle the longest ends. */
  openSession(): Promise<string>;
  /** The session of a cookie; undefined for an unknown one, and for one that has expired. */
  findSession(cookie: string): Session | undefined;
  end(session: Session): Promise<void>;
  /** Resolves when `session` ends. */
  onEnd(session: Session, listener: () => void): Disposable;
  readonly count: number;
}

interface Entry extends Session {
  usedAt: number;
  writtenAt: number;
  readonly listeners: Set<() => void>;
}

/**
 * The sessions, of which the read model's file has the digests of the cookies, so that a restart of the console ends none.
 * The CSRF token is made from the cookie, and so needs no room of its own.
 */
export function createSessions(store: Pick<Store, 'read' | 'write'>, clock: Pick<Clock, 'now'>): Sessions {
  const sessions = new Map<string, Entry>();
  for (const row of store.read((db) => db.all('SELECT digest, used_at FROM sessions ORDER BY used_at'))) {
    const usedAt = integer(row, 'used_at');
    const digest = text(row, 'digest');
    sessions.set(digest, entryOf(digest, usedAt));
  }

  const drop = async (entry: Entry): Promise<void> => {
    sessions.delete(entry.digest);
    entry.held = undefined;
    for (const listener of entry.listeners) listener();
    await store.write((db) => db.run('DELETE FROM sessions WHERE digest = ?', entry.digest));
  };
  const isOver = ({ usedAt }: Entry): boolean => clock.now() - usedAt >= IDLE_MS;
  const dropOld = async (): Promise<void> => {
    const over = [...sessions.values()].filter(isOver);
    const rest = [...sessions.values()].filter((entry) => !isOver(entry));
    rest.sort((a, b) => a.usedAt - b.usedAt);
    const excess = rest.slice(0, Math.max(0, rest.length - MAX_SESSIONS + 1));
    await Promise.all([...over, ...excess].map(drop));
  };

  return {
    async openSession() {
      await dropOld();
      const cookie = newSecret();
      const entry = entryOf(digestOf(cookie), clock.now());
      await store.write((db) => save(db, entry, clock.now()));
      sessions.set(entry.digest, entry);
      return cookie;
    },
    findSession(cookie) {
      const entry = sessions.get(digestOf(cookie));
      if (entry === undefined) return undefined;
      if (isOver(entry)) {
        drop(entry).catch(() => undefined);
        return undefined;
      }
      const now = clock.now();
      entry.usedAt = now;
      if (now - entry.writtenAt >= WRITE_EVERY_MS) {
        entry.writtenAt = now;
        // A use that is not written only shortens the session.
        store.write((db) => save(db, entry, now)).catch(() => undefined);
      }
      return entry;
    },
    end: async ({ digest }) => {
      const entry = sessions.get(digest);
      if (entry) await drop(entry);
    },
    onEnd({ digest }, listener) {
      const entry = sessions.get(digest);
      entry?.listeners.add(listener);
      return { [Symbol.dispose]: () => void entry?.listeners.delete(listener) };
    },
    get count() {
      return sessions.size;
    },
  };
}

const entryOf = (digest: string, usedAt: number): Entry => ({
  digest,
  csrfToken: digestOf(`csrf ${digest}`),
  held: undefined,
  usedAt,
  writtenAt: usedAt,
  listeners: new Set(),
});

const save = (db: Queries, { digest }: Entry, now: number) =>
  db.run(
    'INSERT INTO sessions VALUES (?1, ?2, ?2) ON CONFLICT DO UPDATE SET used_at = excluded.used_at',
    digest,
    now,
  );
