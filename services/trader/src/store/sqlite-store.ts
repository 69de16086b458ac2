import type { Clock, Ids, Log } from '@hermes-fleet/protocol/ports';
import { createWakeups, json, openStore, type Store } from '@hermes-fleet/store';
import type { AuditHead } from '../control/audit-verifier.ts';
import type { ControlStore } from '../control/control-store.ts';
import { headOf, recordsAfter } from './audit.ts';
import { unsoundEnginesIn } from './book-replay.ts';
import { createBooksReader } from './books.ts';
import { readTables } from './compare.ts';
import { type ControlTransaction, createControlTransaction } from './control-transaction.ts';
import { compensate, decide, factsOf, holdConcern, refusals, refuse, reset, settle } from './decide.ts';
import { createLazyWrites } from './lazy-writes.ts';
import { createOutbox, OUTBOX_KEY } from './outbox.ts';
import { escapeName } from './rows.ts';
import { lastEntryOf, saveEngine } from './save-engine.ts';
import { CONTROL } from './schema.ts';
import { seed, setStatus } from './seed.ts';
import {
  concernIn,
  concernsIn,
  decisionIn,
  decisionInForce,
  decisionsIn,
  hasDecided,
  openDecisionsIn,
  strategiesIn,
  strategyIn,
} from './tables.ts';
import { createTransactionCache } from './transaction-cache.ts';
import { type Baseline, createVerifier } from './verify.ts';

/** Longest delay of a deferred write, ms. */
const LAZY_MS = 20;
/**
 * The size of the write-ahead log that starts a checkpoint, in pages of 4 kB. A commit that makes the log longer takes about
 * 1.6 times as long as one that writes over an older part of it, and an orderly stop ends the log. Bars and decisions of a few
 * pages each fill a log of the default size so slowly that most of them would be written into one that grows.
 */
const CHECKPOINT_PAGES = 1000;

/**
 * Opens the control store and creates it if it does not exist. Throws CONFIG_INVALID (not a control store, or another
 * service's) or STORE_UNAVAILABLE (locked, disk full).
 */
export function openControlStore(options: {
  readonly file: string;
  /** Owner of the file. */
  readonly service: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}): ControlStore {
  const { service: profile } = options;
  const settings = { schema: CONTROL, profile, checkpointPages: CHECKPOINT_PAGES };
  return createControlStore(openStore({ ...options, ...settings }), options);
}

/** Wraps an open store, which `close` closes. */
export function createControlStore(
  store: Store,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): ControlStore {
  const wakeups = createWakeups();
  const listeners = new Set<(head: AuditHead) => void>();
  const cache = createTransactionCache();
  const lazy = createLazyWrites({ clock, waitMs: LAZY_MS });
  const baseline = baselineOf(store);

  const notify = (listener: (head: AuditHead) => void, head: AuditHead): void => {
    try {
      listener(head);
    } catch (error) {
      log.error({ err: error }, 'a listener for audit heads failed');
    }
  };

  const committed = ({ head, hasEvents: hasNews }: ControlTransaction): void => {
    if (head) for (const listener of [...listeners]) notify(listener, head);
    if (hasNews) wakeups.wake(OUTBOX_KEY);
  };

  /** Runs a transaction on what the file has, as the cache knows it: it forgets when a transaction was rolled back. */
  const write = async <T>(transaction: (tx: ControlTransaction) => T): Promise<T> => {
    let tx: ControlTransaction | undefined;
    try {
      return await store.write(
        (db) => {
          // A transaction that runs again was rolled back, perhaps with others before it.
          if (tx !== undefined) cache.forget();
          tx = createControlTransaction(db, clock.now(), cache);
          try {
            return transaction(tx);
          } catch (error) {
            cache.forget();
            throw error;
          }
        },
        () => tx && committed(tx),
      );
    } catch (error) {
      // The batch was not committed. This runs before the next batch, which begins in a later turn of the event loop.
      cache.forget();
      throw error;
    }
  };

  /** Flushes deferred writes first, so that outcomes are visible to the next judgment. */
  const command = <T>(transaction: (tx: ControlTransaction) => T): Promise<T> => {
    lazy.flush();
    return write(transaction);
  };

  const joined = (key: string, transaction: (tx: ControlTransaction) => void): Promise<void> =>
    lazy.join(key, () => write(transaction));

  return {
    id: store.id,
    decide: (attempt, wanted, judge) => command((tx) => decide(tx, attempt, wanted, judge)),
    facts: (wanted) =>
      store.read((db) =>
        factsOf({ db, concern: (id) => concernIn(db, id), strategy: (id) => strategyIn(db, id) }, wanted),
      ),
    holdConcern: (concernId, to, reason) => command((tx) => holdConcern(tx, concernId, to, reason)),
    refuse: (attempt, response) => command((tx) => refuse(tx, attempt, response)),
    reset: (order) => command((tx) => reset(tx, order)),
    refusals: (counted) => command((tx) => refusals(tx, counted)),
    settle: (apply, response) => joined(`settle ${apply.auditSeq}`, (tx) => settle(tx, apply, response)),
    compensate: (apply, before, response) => command((tx) => compensate(tx, apply, before, response)),
    seed: (strategies, concerns) => command((tx) => seed(tx, strategies, concerns)),
    setStatus: (id, status, reason) => command((tx) => setStatus(tx, id, status, reason)),
    concern: (id) => store.read((db) => concernIn(db, id)),
    concerns: () => store.read(concernsIn),
    strategy: (id) => store.read((db) => strategyIn(db, id)),
    strategies: () => store.read(strategiesIn),
    decisions: (concernId, limit) => store.read((db) => decisionsIn(db, concernId, limit)),
    decisionInForce: (concernId) => store.read((db) => decisionInForce(db, concernId)),
    callerOfDecision: (id) => store.read((db) => decisionIn(db, id)?.caller),
    hasDecided: (...asked) => store.read((db) => hasDecided(db, ...asked)),
    openApplies: () => store.read(openDecisionsIn),
    saveEngine: (concernId, snapshot, entries) => {
      const saved = { snapshot: JSON.stringify(snapshot), entries };
      return joined(`engine ${concernId}`, (tx) => saveEngine(tx, concernId, saved));
    },
    unsoundEngines: () => store.read(unsoundEnginesIn),
    loadEngine: (concernId) => {
      const row = store.read((db) =>
        db.get('SELECT snapshot FROM engines WHERE concern_id = ?', escapeName(concernId)),
      );
      return row && json(row, 'snapshot');
    },
    lastEntry: (concernId) => store.read((db) => lastEntryOf(db, escapeName(concernId)).n),
    books: createBooksReader(store),
    head: () => store.read(headOf),
    audit: (afterSeq, limit) => store.read((db) => recordsAfter(db, afterSeq, limit)),
    verifier: () => createVerifier({ store, baseline, write: command }),
    verify: (options) => createVerifier({ store, baseline }).run(options),
    onHead: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
    outbox: createOutbox({
      store,
      wakeups,
      clock,
      write: (key, transaction) => joined(key, ({ db }) => transaction(db)),
    }),
    problem: store.problem,
    close: async () => {
      lazy.close();
      store.close();
    },
  };
}

/** The tables before anything is written; undefined where the file is damaged, which the chain then shows. */
function baselineOf(store: Store): Baseline | undefined {
  try {
    return store.read((db) => ({ seq: headOf(db).seq, tables: readTables(db) }));
  } catch {
    // Whoever reads what is damaged gets the error.
    return undefined;
  }
}
