import type { PushConfig } from '@hermes-fleet/ledger';
import { checkDestination } from '@hermes-fleet/net';
import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import { shuttingDown } from '../server/open-calls.ts';
import type { PlannedPush, PushPort } from '../server/push-methods.ts';
import { deliverConfig } from './deliver-config.ts';
import { checkPort } from './send-notification.ts';
import type { PushOptions } from './target.ts';
import { createTargetSlots } from './target-slots.ts';

/** The longest time of a look-up when a config is created. */
const LOOKUP_MS = 5_000;
/** The configs that a start reads at a time. */
const PAGE = 100;

/** The delivery of push notifications (docs/push.md). */
export interface PushService extends PushPort {
  /** Begins the deliveries of the configs that an earlier process left. */
  start(): void;
  /** Ends all deliveries; resolves when none is in progress. The next process continues them. */
  stop(): Promise<void>;
}

const isFault = (err: unknown): boolean => !(err instanceof FleetError) || err.code === 'INTERNAL';

export function createPushService(options: PushOptions): PushService {
  const { ledger, rules = {}, limits, clock, log, random = Math.random } = options;
  const stopping = new AbortController();
  const deliveries = new Map<number, { readonly abort: AbortController; readonly done: Promise<void> }>();
  /** The configs of a caller that were planned and not stored yet. */
  const planned = new Map<string, number>();
  let starting: Promise<void> = Promise.resolve();
  const deps = { ...options, slots: createTargetSlots() };

  /** Ends a config that cannot be delivered through a fault of this program, where its caller and the operator see it. */
  const giveUpAfterFault = async (n: number, err: unknown): Promise<void> => {
    await ledger.push.failed(n, clock.now(), 'this agent could not make or send the notification');
    await ledger.push.end(n, 'given_up');
    options.onAttempt?.('given_up');
    log.error({ err, config: n }, 'push notifications given up after an internal error');
  };

  /**
   * Delivers a config until it is no longer active. What may pass, such as a full disk, is tried again; a fault of this
   * program would be the same each time.
   */
  const keepDelivering = async (n: number, signal: AbortSignal): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      try {
        const config = ledger.push.get(n);
        if (config?.state !== 'active') return;
        await deliverConfig(config, deps, signal).catch(async (err: unknown) => {
          if (signal.aborted || !isFault(err)) throw err;
          await giveUpAfterFault(n, err);
        });
        failures = 0;
      } catch (err) {
        if (signal.aborted) return;
        failures += 1;
        log.warn({ err, config: n }, 'push notifications interrupted: trying again');
        const delay = backoffMs(failures, { firstMs: 1_000, longestMs: 60_000, random });
        await clock.sleep(delay, signal).catch(() => undefined);
      }
    }
  };

  const launch = ({ n, state }: PushConfig): void => {
    if (state !== 'active' || stopping.signal.aborted || deliveries.has(n)) return;
    const abort = new AbortController();
    const done = keepDelivering(n, abort.signal).finally(() => deliveries.delete(n));
    deliveries.set(n, { abort, done });
  };

  const cancel = async (n: number): Promise<void> => {
    const delivery = deliveries.get(n);
    delivery?.abort.abort(new FleetError('CANCELED', 'the push notification config is gone'));
    await delivery?.done;
  };

  const launchAll = async (): Promise<void> => {
    for (let after = 0; !stopping.signal.aborted; ) {
      const page = ledger.push.active(after, PAGE);
      for (const config of page) {
        const { caller, url, failures } = config;
        if (failures > 0) deps.slots.heard({ caller, host: new URL(url).host }, false);
        launch(config);
        // A launch reads the log of its task: requests are served between two of them.
        await new Promise(setImmediate);
      }
      if (page.length < PAGE) return;
      after = page.at(-1)?.n ?? after;
    }
  };

  const checkAddress = async (url: string): Promise<void> => {
    const { signal } = stopping;
    try {
      checkPort(url, rules);
      await checkDestination(url, { ...rules, clock, signal, timeoutMs: LOOKUP_MS });
    } catch (cause) {
      const known = FleetError.from(cause);
      if (known.code !== 'FORBIDDEN' && known.code !== 'INVALID_PARAMS') throw cause;
      const reason =
        known.code === 'FORBIDDEN' ? `${known.message}: use an address on the internet` : known.message;
      throw new FleetError(
        'INVALID_PARAMS',
        `the url of the push notification config is refused: ${reason}`,
        {
          fields: [{ path: 'url', reason }],
          cause,
        },
      );
    }
  };

  /** Keeps a place for a config that is not stored yet; disposing it again changes nothing. Throws QUEUE_FULL. */
  const reserve = (caller: string, taskId: string | undefined): Disposable => {
    const pending = planned.get(caller) ?? 0;
    ledger.push.assertRoom(caller, taskId, limits, pending);
    planned.set(caller, pending + 1);
    const place = new DisposableStack();
    place.defer(() => {
      const left = (planned.get(caller) ?? 1) - 1;
      if (left === 0) planned.delete(caller);
      else planned.set(caller, left);
    });
    return place;
  };

  const plan: PushPort['plan'] = async (wanted, caller, task): Promise<PlannedPush> => {
    if (stopping.signal.aborted) throw shuttingDown();
    await checkAddress(wanted.url);
    const before = task && ledger.push.findConfig(task.id, task.config);
    // A config that is known takes no further place.
    const place = before ? undefined : reserve(caller, task?.id);
    return {
      async save(taskId, id) {
        const position = ledger.get(taskId)?.lastSeq ?? 0;
        const known = ledger.push.findConfig(taskId, id);
        const saved = await ledger.push.save({ ...wanted, taskId, id, position }, task && limits);
        // It counts as stored from now on.
        place?.[Symbol.dispose]();
        if (known && known.n !== saved.n) await cancel(known.n);
        launch(saved);
        return saved;
      },
      [Symbol.dispose]: () => place?.[Symbol.dispose](),
    };
  };

  return {
    plan,
    findConfig: ledger.push.findConfig,
    list: (taskId) => ledger.push.list(taskId),
    async remove(taskId, id) {
      const removed = await ledger.push.remove(taskId, id);
      if (removed) await cancel(removed.n);
    },
    start() {
      starting = launchAll().catch((err) =>
        log.error({ err }, 'the push notifications of earlier tasks are not delivered until the next start'),
      );
    },
    async stop() {
      stopping.abort(shuttingDown());
      await starting;
      await Promise.all(
        [...deliveries.values()].map(({ abort, done }) => {
          abort.abort(stopping.signal.reason);
          return done;
        }),
      );
    },
  };
}
