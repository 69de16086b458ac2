import type { DatabaseSync } from 'node:sqlite';
import { type Clock, FleetError, type Ids, type Log } from '@hermes-fleet/protocol';
import { type Connections, createQueries, openConnections, type Queries } from './database.ts';
import { isStoreFailure } from './errors.ts';
import { createGroupCommit } from './group-commit.ts';
import type { StoreSchema } from './migrate.ts';
import { text } from './row.ts';

/** A database file: reads that see committed data only, and writes in group commits. */
export interface Store {
  /** The UUID that the file got when it was made. */
  readonly id: string;
  /** Committed data. Throws STORE_UNAVAILABLE, or SHUTTING_DOWN once closed. */
  read<T>(query: (db: Queries) => T): T;
  /** See GroupCommit.write. */
  write<T>(transaction: (db: Queries) => T, onCommitted?: (value: T) => void): Promise<T>;
  problem(): string | undefined;
  close(): void;
}

export interface StoreOptions {
  readonly file: string;
  readonly schema: StoreSchema;
  /** Whose it is: a file of another owner is refused. */
  readonly profile: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function openStore(o: StoreOptions): Store {
  return createStore(
    o,
    openConnections(o.file, o.schema, (db) => identify(db, o)),
  );
}

/** The store over connections that are open; it closes them. */
export function createStore(
  o: Pick<StoreOptions, 'schema' | 'clock' | 'log'>,
  connections: Connections,
): Store {
  const { writer, reader, id, assertInPlace } = connections;
  const writing = createQueries(writer);
  const commits = createGroupCommit({
    name: o.schema.name,
    db: writer,
    clock: o.clock,
    log: o.log,
    ready: assertInPlace,
    probe: () => {
      writing.run(`INSERT OR REPLACE INTO meta VALUES ('probed_at', ?)`, String(o.clock.now()));
    },
  });
  return {
    id,
    read: readFrom(reader, o.schema.name),
    write: (transaction, onCommitted) => commits.write(() => transaction(writing), onCommitted),
    problem: commits.problem,
    close: () => {
      if (!writer.isOpen) return;
      commits.close();
      // The writer goes last: the last connection folds the write-ahead log into the file, a read-only one cannot.
      reader.close();
      writer.close();
    },
  };
}

/** The `read` of a store, over a connection that can only read. */
export function readFrom(reader: DatabaseSync, name: string): Store['read'] {
  const reading = createQueries(reader);
  return (query) => {
    if (!reader.isOpen)
      throw new FleetError('SHUTTING_DOWN', `the ${name} is closed; ask again after the restart`);
    try {
      return query(reading);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      throw new FleetError('STORE_UNAVAILABLE', `the ${name} cannot be read; try again later`, {
        cause: error,
      });
    }
  };
}

/** The file's id, made at its first opening. A file of another profile is refused: ids of events name the profile. */
function identify(db: Queries, o: StoreOptions): string {
  db.run(`INSERT OR IGNORE INTO meta VALUES ('ledger_id', ?), ('profile', ?)`, o.ids.uuid(), o.profile);
  const profile = meta(db, 'profile');
  if (profile !== o.profile) {
    const message = `the ${o.schema.name} ${o.file} belongs to profile ${profile}, not ${o.profile}; correct the path`;
    throw new FleetError('CONFIG_INVALID', message);
  }
  return meta(db, 'ledger_id');
}

function meta(db: Queries, key: string): string {
  return text(db.get('SELECT value FROM meta WHERE key = ?', key) ?? {}, 'value');
}
