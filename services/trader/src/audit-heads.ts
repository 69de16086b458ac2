import { hash } from 'node:crypto';
import { type BusConnection, type Head, type HeadPublisher, startHeadPublisher } from '@hermes-fleet/events';
import type { Concern } from '@hermes-fleet/market';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { AuditHead, Broken } from './control/audit-verifier.ts';
import type { ControlStore } from './control/control-store.ts';

/** What is wrong with an audit, as an operator sees and accepts it. */
export interface Finding {
  /** Stays while the same is found. */
  readonly id: string;
  readonly reason: string;
  readonly broken: Broken;
  /** The published head that the audit contradicts. */
  readonly published: Head | undefined;
}

/** The integrity of the audit (docs/trader.md#audit). */
export interface AuditState {
  /** `unknown` until everything is verified once and the published head is read. `broken` lasts until it is accepted. */
  readonly state: 'unknown' | 'ok' | 'broken';
  /** The break, or the pending step. */
  readonly detail: string | undefined;
  /** Everything was verified once, and is not broken: engines may enter positions. */
  readonly mayEnter: boolean;
  readonly finding: Finding | undefined;
}

export interface AuditWatchOptions {
  /** Owner of the audit, e.g. `trader`. */
  readonly service: string;
  /** Undefined: heads are not published, and a truncated tail is detected only by the file's own counter. */
  readonly connection: BusConnection | undefined;
  readonly store: Pick<ControlStore, 'id' | 'head' | 'audit' | 'verifier' | 'onHead' | 'concerns'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The time between two verifications, ms. */
  readonly everyMs?: number;
  /** Called with each change of the state. */
  readonly onChange: (state: AuditState) => void;
}

export interface AuditWatch {
  state(): AuditState;
  /** Undefined without a broker. Another one after each acceptance. */
  readonly heads: HeadPublisher | undefined;
  /** Waits for the first result, for at most this time. A broker that cannot be reached is not waited for. */
  settle(timeoutMs: number): Promise<void>;
  /**
   * Accepts what was found, as an operator has seen it, and publishes heads again. INVALID_PARAMS if something else was found
   * by now, or nothing.
   */
  accept(acceptance: {
    readonly caller: string;
    readonly reason: string;
    readonly finding: string;
  }): Promise<AuditHead>;
  close(): Promise<void>;
}

const EVERY_MS = 300_000;
/** The time to the next verification after one that could not be made. */
const RETRY_MS = 5_000;

/**
 * Verifies the audit in the background: at first everything, then again and again what was added. Meanwhile it publishes
 * the newest head, with the state of all concerns (docs/events.md#the-head-of-an-audit), once the published one is found in
 * the file. When the audit is broken or differs from the published head, it logs an error and publishes no more heads,
 * until an operator accepts what was found.
 */
export function watchAudit(options: AuditWatchOptions): AuditWatch {
  const { store, log, clock } = options;
  const stop = new AbortController();
  const verifier = store.verifier();
  const settled = Promise.withResolvers<void>();
  let queue: Promise<unknown> = Promise.resolve();
  /** Undefined until everything was verified once. */
  let verified: { readonly broken: Broken | undefined } | undefined;
  let problem: string | undefined;
  /** A published head that this audit does not have. */
  let contradicted: { readonly head: Head | undefined; readonly reason: string } | undefined;
  let accepted: Head | undefined;
  let known = '';

  /** One at a time. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };

  const state = (): AuditState => {
    const broken = verified?.broken;
    const finding = findingOf(broken, contradicted);
    if (finding !== undefined) return { state: 'broken', detail: finding.reason, mayEnter: false, finding };
    const mayEnter = verified !== undefined;
    const pending = mayEnter ? headPending() : (problem ?? 'its chain is being verified');
    return { state: pending === undefined ? 'ok' : 'unknown', detail: pending, mayEnter, finding };
  };

  const headPending = (): string | undefined => {
    const head = heads?.state();
    if (head === undefined || head.audit === 'ok') return undefined;
    return `the published head is not read yet: ${head.lastError ?? 'no answer'}`;
  };

  const changed = (): void => {
    const now = state();
    const head = heads?.state();
    const isTried = head === undefined || head.audit !== 'unknown' || head.lastError !== undefined;
    if (now.state === 'broken' || (now.mayEnter && isTried)) settled.resolve();
    const text = JSON.stringify(now);
    if (text === known) return;
    known = text;
    options.onChange(now);
  };

  async function verify(): Promise<void> {
    const { ok, records, broken } = await verifier.run({ signal: stop.signal });
    if (verified === undefined && ok) log.info({ records }, 'the audit is intact');
    if (!ok && verified?.broken === undefined) {
      log.error({ ...broken }, 'the audit is broken: its head is no longer published');
      void heads?.close();
    }
    [verified, problem] = [{ broken }, undefined];
    changed();
  }

  async function keepVerifying(): Promise<void> {
    while (!stop.signal.aborted) {
      const isDone = await inTurn(verify).then(
        () => true,
        (error: unknown) => {
          if (stop.signal.aborted) return false;
          problem = `it cannot be verified: ${String(error)}`;
          log.error({ err: error }, 'the audit cannot be verified');
          changed();
          return false;
        },
      );
      const everyMs = options.everyMs ?? EVERY_MS;
      const waitMs = isDone ? everyMs : Math.min(everyMs, RETRY_MS);
      await clock.sleep(waitMs, stop.signal).catch(() => undefined);
    }
  }

  const check = async (found: Head | undefined): Promise<string | undefined> => {
    if (verified?.broken !== undefined) return reasonOf(verified.broken);
    if (found === undefined || isSame(found, accepted)) return undefined;
    const reason = contradiction(store, found);
    if (reason !== undefined) contradicted = { head: found, reason };
    return reason;
  };

  const publish = (): HeadPublisher | undefined =>
    options.connection &&
    startHeadPublisher({
      connection: options.connection,
      service: options.service,
      clock,
      log,
      head: () => ({ store: store.id, ...store.head() }),
      beside: () => ({ concerns: store.concerns().map(concernView) }),
      check,
      onState: ({ audit, reason }) => {
        // A message that is no head at all.
        if (audit === 'broken' && reason !== undefined && verified?.broken === undefined)
          contradicted ??= { head: undefined, reason };
        changed();
      },
    });

  let heads: HeadPublisher | undefined;
  heads = publish();
  const listening = store.onHead(() => heads?.headChanged());
  const watching = keepVerifying();

  return {
    state,
    get heads() {
      return heads;
    },
    async settle(timeoutMs) {
      using _ = clock.timer(() => settled.resolve(), timeoutMs);
      await settled.promise;
    },
    accept: ({ caller, reason, finding: id }) =>
      inTurn(async () => {
        await verify();
        const { finding } = state();
        if (finding?.id !== id)
          throw new FleetError(
            'INVALID_PARAMS',
            finding === undefined
              ? 'the audit is not broken: there is nothing to accept'
              : 'something else is broken by now: look at it first',
          );
        const last = contradicted?.head ?? heads?.published();
        const published = last && (contradiction(store, last) === undefined ? undefined : last);
        const { broken } = finding;
        const head = await verifier.accept({ caller, reason, broken, ...(published && { published }) });
        log.warn({ caller, seq: head.seq, reason: finding.reason }, 'a broken audit is accepted');
        await heads?.close();
        [accepted, contradicted] = [published, undefined];
        heads = stop.signal.aborted ? undefined : publish();
        await verify();
        return head;
      }),
    async close() {
      listening[Symbol.dispose]();
      stop.abort();
      settled.resolve();
      await Promise.all([heads?.close(), watching, queue]);
    },
  };
}

const isSame = (a: Head, b: Head | undefined): boolean =>
  a.store === b?.store && a.seq === b.seq && a.hash === b.hash;

const concernView = ({ id, activeStrategyId, runState, riskMode }: Concern): JsonObject => ({
  concern_id: id,
  strategy_id: activeStrategyId,
  run_state: runState,
  risk_mode: riskMode,
});

/** Why a published head does not belong to this audit; undefined if it does. */
function contradiction(store: AuditWatchOptions['store'], published: Head): string | undefined {
  const last = store.head().seq;
  const [own] = store.audit(published.seq - 1, 1);
  if (own?.seq === published.seq && own.hash === published.hash) return undefined;
  const of = published.store === store.id ? '' : ` of another file (${published.store})`;
  const prefix = `NATS holds the head${of} of record ${published.seq}, but the audit`;
  if (published.seq > last)
    return `${prefix} ends with record ${last}: its tail was cut off, or an older file was put back`;
  return own?.seq === published.seq
    ? `${prefix} has another record there: it was rewritten`
    : `${prefix} has no such record: it was removed`;
}

interface Contradicted {
  readonly head: Head | undefined;
  readonly reason: string;
}

const reasonOf = ({ seq, reason, table }: Broken): string =>
  table === undefined ? `record ${seq} of the audit: ${reason}` : reason;

/** The finding of a verification and of the comparison with the published head; undefined if both are in order. */
function findingOf(broken: Broken | undefined, contradicted: Contradicted | undefined): Finding | undefined {
  if (broken === undefined && contradicted === undefined) return undefined;
  const published = contradicted?.head;
  const reasons = [broken && reasonOf(broken), contradicted?.reason].filter((each) => each !== undefined);
  const what = broken ?? { seq: published?.seq ?? 0, reason: contradicted?.reason ?? '' };
  const about = [what.seq, what.table ?? '', what.row ?? '', published?.seq ?? 0, published?.hash ?? ''];
  return {
    id: hash('sha256', JSON.stringify(about)).slice(0, 16),
    reason: reasons.join('; '),
    broken: what,
    published,
  };
}
