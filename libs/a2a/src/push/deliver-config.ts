import type { Ledger, PushConfig } from '@hermes-fleet/ledger';
import type { DestinationRules } from '@hermes-fleet/outbound';
import { backoffMs, type Clock, type JsonObject, type Log } from '@hermes-fleet/protocol';
import { partUrlAt } from '../server/artifact-route.ts';
import { followTask } from '../server/follow-task.ts';
import { requireTask } from '../server/read-tasks.ts';
import { ownArtifacts } from '../wire/artifact-view.ts';
import { taskView } from '../wire/task-view.ts';
import { type Notification, notificationOf } from './notification.ts';
import { type SendFailure, sendNotification } from './send-notification.ts';
import type { Slots } from './slots.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;

export type PushResult = 'ok' | 'error' | 'given_up';

export interface DeliveryDeps {
  readonly ledger: Ledger;
  readonly rules: DestinationRules;
  /** The time of failures without a delivery after which a config is given up. */
  readonly giveUpAfterMs: number;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly metadata: (taskId: string) => JsonObject | undefined;
  /** The URL of this agent, below which clients read the parts of artifacts that a notification refers to. */
  readonly rpcUrl: () => string;
  /** Further headers of a notification with this id. */
  readonly headers: (id: string, body: string) => Readonly<Record<string, string>>;
  readonly onAttempt: (result: PushResult) => void;
}

/**
 * Delivers what a stream of the task would carry, one notification after the other, from the durable position of the config
 * to the end of the task. Each is sent until its target acknowledges it, so each arrives at least once and in order.
 * Returns when the config is finished, given up or gone. Rejects with the signal's reason.
 */
export async function deliverConfig(
  config: PushConfig,
  deps: DeliveryDeps,
  signal: AbortSignal,
): Promise<void> {
  const { ledger } = deps;
  const { n, taskId, version } = config;
  const record = ledger.get(taskId);
  if (record === undefined) return;
  const metadata = deps.metadata(taskId);
  const target = createTarget(config, deps, signal);
  let { position } = config;
  /** The number of the update after the event at `position`; with it, an id that is the same after a restart. */
  let index = 0;
  const urlOf = partUrlAt(deps.rpcUrl, taskId);
  const updates = followTask({
    ...{ ledger, record, afterSeq: position, metadata, untilAsked: false, isResumed: config.hasBegun },
    ...{ hasHandshake: () => false, urlOf, signal },
  });
  for await (const { eventId, response } of updates) {
    const isNew = index > 0 || !config.hasBegun;
    const current = () => ({
      ...taskView(requireTask(ledger, taskId), [], {
        questions: ledger.questions(taskId),
        own: ownArtifacts(ledger.artifacts(taskId), urlOf),
        ownFirst: true,
      }),
      metadata,
    });
    const notification = isNew ? notificationOf(version, response, current) : undefined;
    const id = `${taskId}.${position}.${index}`;
    index += 1;
    if (notification === undefined) continue;
    if (!(await target.deliver(id, notification))) return;
    if (eventId === undefined) continue;
    if (!(await ledger.push.delivered(n, eventId))) return;
    if (eventId > position) index = 1;
    position = eventId;
  }
  await ledger.push.end(n, 'finished');
}

/** Sends notifications of a config until they are acknowledged. */
function createTarget(
  { n, caller, taskId, id: configId, ...config }: PushConfig,
  deps: DeliveryDeps,
  signal: AbortSignal,
) {
  const { ledger, clock, log, slots } = deps;
  const about = { task_id: taskId, config: configId, host: new URL(config.url).host };
  let { failures, failingSince } = config;

  /** Records a failed attempt; false if it was the last one. */
  const failed = async ({ detail, isFinal }: SendFailure): Promise<boolean> => {
    const now = clock.now();
    failures += 1;
    failingSince ??= now;
    await ledger.push.failed(n, now, detail);
    const failingMs = now - failingSince;
    if (!isFinal && failingMs < deps.giveUpAfterMs) {
      deps.onAttempt('error');
      log.debug({ ...about, failures, detail }, 'push notification not delivered: trying again');
      return true;
    }
    await ledger.push.end(n, 'given_up');
    deps.onAttempt('given_up');
    log.warn(
      { ...about, failures, failing_s: Math.round(failingMs / 1000), detail },
      'push notifications given up',
    );
    return false;
  };

  const delayMs = (failure: SendFailure | undefined): number => {
    const backoff = { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS, random: deps.random };
    return Math.max(
      backoffMs(failures, backoff),
      Math.min((failure?.retryAfterS ?? 0) * 1000, LONGEST_RETRY_MS),
    );
  };

  return {
    /** False if the config was given up, or is gone. */
    async deliver(id: string, notification: Notification): Promise<boolean> {
      let failure: SendFailure | undefined;
      for (;;) {
        if (failures > 0) await clock.sleep(delayMs(failure), signal);
        using _slot = await slots.take(caller, signal);
        // It may have been deleted, or erased with its task, meanwhile.
        if (ledger.push.get(n)?.state !== 'active') return false;
        failure = await sendNotification(config, notification, {
          rules: deps.rules,
          clock,
          signal,
          headers: deps.headers(id, notification.body),
        });
        if (failure === undefined) break;
        if (!(await failed(failure))) return false;
      }
      deps.onAttempt('ok');
      failures = 0;
      failingSince = undefined;
      return true;
    },
  };
}
