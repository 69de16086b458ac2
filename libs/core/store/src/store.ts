import type { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Ids, Log } from '@hermes-fleet/protocol/ports';
import type { BatchState } from './batch-states.ts';
import { createCheckpoints } from './checkpoints.ts';
import { CHECKPOINT_PAGES, type Connections, openConnections } from './database.ts';
import { damageError, isDamage, isStoreFailure } from './errors.ts';
import { createGroupCommit } from './group-commit.ts';
import type { StoreSchema } from './migrate.ts';
import { createStatements, type Queries } from './queries.ts';
import { emptyLog, rewriteFile } from './rewrite.ts';
import { text } from './row.ts';

/** A database file. Reads see committed data only; writes are group commits. */
export interface Store {
  /** The UUID of the file, generated at its creation. */
  readonly id: string;
  /**
   * Throws INTERNAL in a transaction, which reads with what it is given, and for a statement that could write;
   * STORE_UNAVAILABLE, and SHUTTING_DOWN after `close`. A damaged page is reported by `problem` from then on, and
   * its error is not retryable.
   */
  read<T>(query: (db: Queries) => T): T;
  /** See `GroupCommit.write`. */
  write<T>(transaction: (db: Queries) => T, onCommitted?: (value: T) => void): Promise<T>;
  /** See `GroupCommit.perBatch`. */
  perBatch<S>(create: () => S, write: (db: Queries, state: S) => void): BatchState<S>;
  /**
   * Rewrites the file without what was deleted; its old pages stay until `emptyLog`. Blocks the thread (about 4 ms for each
   * MB), and needs twice the size of the file on its disk. Waits for no other process. Throws STORE_UNAVAILABLE without that
   * space, or while another process writes.
   */
  rewrite(): void;
  /**
   * Moves the write-ahead log into the file, and empties it. Waits for no other process: throws STORE_UNAVAILABLE while one
   * reads the file.
   */
  emptyLog(): void;
  problem(): string | undefined;
  close(): void;
}

export interface StoreOptions {
  readonly file: string;
  readonly schema: StoreSchema;
  /** The owner; a file of another profile is rejected. */
  readonly profile: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The size of the write-ahead log that starts a checkpoint, in pages of 4 kB; `CHECKPOINT_PAGES` without it. */
  readonly checkpointPages?: number;
  /** The pages that SQLite keeps in memory, in KiB; 16 MiB without it. */
  readonly cacheKib?: number;
}

export function openStore(options: StoreOptions): Store {
  const { file, schema, checkpointPages, cacheKib } = options;
  return createStore(
    options,
    openConnections(file, schema, (db) => identify(db, options), cacheKib),
    checkpointPages,
  );
}

/** A store over an open connection, which it closes. `checkpointPages` is the size of the log that starts a checkpoint. */
export function createStore(
  { schema, clock, log }: Pick<StoreOptions, 'schema' | 'clock' | 'log'>,
  { writer, id, damage, assertInPlace }: Connections,
  checkpointPages = CHECKPOINT_PAGES,
): Store {
  const { name } = schema;
  const { writing, reading, writes } = createStatements(writer);
  const checkpoints = createCheckpoints({ name, db: writer, clock, log, assertInPlace, checkpointPages });
  const commits = createGroupCommit({
    name,
    db: writer,
    clock,
    log,
    assertReady: assertInPlace,
    probe: () => {
      writing.run(`INSERT OR REPLACE INTO meta VALUES ('probed_at', ?)`, String(clock.now()));
    },
    writes,
    afterCommit: checkpoints.afterCommit,
  });
  if (damage !== undefined) commits.damaged(new Error(damage));
  const read = readFrom(writer, reading, name, commits.damaged);
  return {
    id,
    read: (query) => {
      if (commits.inBatch())
        throw new FleetError('INTERNAL', `a transaction of the ${name} must not call read`);
      return read(query);
    },
    write: (transaction, onCommitted) => commits.write(() => transaction(writing), onCommitted),
    perBatch: (create, write) => commits.perBatch(create, (state) => write(writing, state)),
    rewrite: () => rewriteFile(writer, name),
    emptyLog: () => emptyLog(writer, name, checkpoints.awaitIdle),
    problem: commits.problem,
    close: () => {
      if (!writer.isOpen) return;
      commits.close();
      checkpoints.close();
      writer.close();
    },
  };
}

/** The `read` of a store over a connection, with its queries that only read. */
export function readFrom(
  db: DatabaseSync,
  queries: Queries,
  name: string,
  damaged: (cause: unknown) => FleetError = (cause) => damageError(name, cause),
): Store['read'] {
  return (query) => {
    if (!db.isOpen)
      throw new FleetError('SHUTTING_DOWN', `the ${name} is closed; try again after the restart`);
    try {
      return query(queries);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      if (isDamage(error)) throw damaged(error);
      throw new FleetError('STORE_UNAVAILABLE', `the ${name} cannot be read; try again later`, {
        cause: error,
      });
    }
  };
}

/**
 * The file's id, generated when it is first opened. Rejects a file of another profile, because event ids name the
 * profile.
 */
function identify(db: Queries, { file, schema, profile, ids }: StoreOptions): string {
  db.run(`INSERT OR IGNORE INTO meta VALUES ('ledger_id', ?), ('profile', ?)`, ids.uuid(), profile);
  const owner = meta(db, 'profile');
  if (owner !== profile) {
    const message = `the ${schema.name} ${file} belongs to profile ${owner}, not ${profile}; correct the path`;
    throw new FleetError('CONFIG_INVALID', message);
  }
  return meta(db, 'ledger_id');
}

function meta(db: Queries, key: string): string {
  return text(db.get('SELECT value FROM meta WHERE key = ?', key) ?? {}, 'value');
}
