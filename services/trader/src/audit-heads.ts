import { type BusConnection, type Head, type HeadPublisher, startHeadPublisher } from '@hermes-fleet/events';
import type { Concern } from '@hermes-fleet/paper';
import type { Clock, JsonObject, Log } from '@hermes-fleet/protocol';
import type { ControlStore } from './control/control-store.ts';

/** The integrity of the audit (docs/trader.md#audit). */
export interface AuditState {
  /** `unknown` until the chain is verified and the published head is read. `broken` is final. */
  readonly state: 'unknown' | 'ok' | 'broken';
  /** The break, or the pending step. */
  readonly detail: string | undefined;
}

export interface AuditWatchOptions {
  /** Owner of the audit, e.g. `trader`. */
  readonly service: string;
  /** Undefined: heads are not published, and a truncated tail is detected only by the file's own counter. */
  readonly connection: BusConnection | undefined;
  readonly store: Pick<ControlStore, 'id' | 'head' | 'audit' | 'verify' | 'onHead' | 'concerns'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the result when the verification is complete. */
  readonly onVerdict: (ok: boolean) => void;
}

export interface AuditWatch {
  state(): AuditState;
  /** Undefined without a broker. */
  readonly heads: HeadPublisher | undefined;
  close(): Promise<void>;
}

/**
 * Verifies the audit chain once in the background and compares it with the published head. From then on it publishes the
 * newest head, with the state of all concerns (docs/events.md#the-head-of-an-audit). If the chain is broken or differs from
 * the published one, it logs an error and publishes no more heads.
 */
export function watchAudit(options: AuditWatchOptions): AuditWatch {
  const { store, log } = options;
  const stop = new AbortController();
  let chain: AuditState = { state: 'unknown', detail: 'its chain is being verified' };
  let walk: Promise<string | undefined> | undefined;

  /** Why the chain is broken; undefined if it is intact. A failed verification is repeated by the next call. */
  const wrongChain = (): Promise<string | undefined> => {
    walk ??= walkChain().catch((error: unknown) => {
      walk = undefined;
      throw error;
    });
    return walk;
  };

  async function walkChain(): Promise<string | undefined> {
    const { records, broken } = await store.verify({ signal: stop.signal });
    const reason = broken && `record ${broken.seq} of the audit: ${broken.reason}`;
    chain = { state: reason === undefined ? 'ok' : 'broken', detail: reason };
    if (reason === undefined) log.info({ records }, 'the audit is intact');
    else log.error({ seq: broken?.seq, reason }, 'the audit is broken');
    reportVerdict();
    return reason;
  }

  const state = (): AuditState => {
    const head = heads?.state();
    if (chain.state !== 'ok' || head === undefined) return chain;
    if (head.audit !== 'unknown') return { state: head.audit, detail: head.reason };
    return {
      state: 'unknown',
      detail: `the published head is not read yet: ${head.lastError ?? 'no answer'}`,
    };
  };
  const reportVerdict = (): void => {
    const now = state();
    if (now.state !== 'unknown') options.onVerdict(now.state === 'ok');
  };

  const heads =
    options.connection &&
    startHeadPublisher({
      connection: options.connection,
      service: options.service,
      clock: options.clock,
      log,
      head: () => ({ store: store.id, ...store.head() }),
      beside: () => ({ concerns: store.concerns().map(concernView) }),
      check: async (found) => (await wrongChain()) ?? (found && contradiction(store, found)),
      onState: reportVerdict,
    });
  const listening = store.onHead(() => heads?.headChanged());
  const first = wrongChain().catch((error: unknown) => {
    if (stop.signal.aborted) return;
    chain = { state: 'unknown', detail: `it cannot be verified: ${String(error)}` };
    log.error({ err: error }, 'the audit cannot be verified');
  });

  return {
    state,
    heads,
    async close() {
      listening[Symbol.dispose]();
      stop.abort();
      await Promise.all([heads?.close(), first]);
    },
  };
}

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
