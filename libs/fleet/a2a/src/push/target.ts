import type { Ledger, PushConfig, PushLimits } from '@hermes-fleet/ledger';
import type { DestinationRules } from '@hermes-fleet/net';
import { backoffMs, type JsonObject } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type Notification, type SendFailure, sendNotification } from './send-notification.ts';
import type { PushSigner } from './signature.ts';
import type { TargetSlots } from './target-slots.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;

export type PushResult = 'ok' | 'error' | 'given_up';

export interface PushOptions {
  readonly ledger: Ledger;
  /** Internal hosts that targets may be at, and the resolver. */
  readonly rules?: DestinationRules;
  readonly limits: PushLimits;
  /** The time of failures without a delivery after which a config is given up, ms. */
  readonly giveUpAfterMs: number;
  /** Becomes Task.metadata of the snapshot, as in streams. */
  readonly metadata?: (taskId: string) => JsonObject | undefined;
  /** The public URL of this agent, below which the content of large artifacts is. */
  readonly rpcUrl: () => string;
  /** Absent: notifications are not signed. */
  readonly signer?: PushSigner | undefined;
  readonly onAttempt?: (result: PushResult) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for jitter; default: Math.random. */
  readonly random?: () => number;
}

export interface PushDeps extends PushOptions {
  readonly slots: TargetSlots;
}

/** `failed`: it is to be sent again, after `backOff`. `over`: the config was given up, or is gone. */
export type Sent = 'sent' | 'failed' | 'over';

/** The target of a config, and how it has answered. */
export interface Target {
  /** Resolves when the target may be asked again after its failures: at once without any. */
  backOff(): Promise<void>;
  /** Makes one attempt. A failure is recorded in the ledger; a success is the caller's to record. */
  send(id: string, notification: Notification): Promise<Sent>;
}

export function createTarget(
  { n, caller, taskId, id: configId, ...config }: PushConfig,
  deps: PushDeps,
  signal: AbortSignal,
): Target {
  const { ledger, clock, log } = deps;
  const { host } = new URL(config.url);
  const about = { task_id: taskId, config: configId, host };
  let { failures, failingSince } = config;
  let retryAfterS: number | undefined;

  /** Records a failed attempt. */
  const failed = async ({ detail, isFinal }: SendFailure): Promise<Sent> => {
    const now = clock.now();
    failures += 1;
    failingSince ??= now;
    await ledger.push.failed(n, now, detail);
    const failingMs = now - failingSince;
    if (!isFinal && failingMs < deps.giveUpAfterMs) {
      deps.onAttempt?.('error');
      log.debug({ ...about, failures, detail }, 'push notification not delivered: trying again');
      return 'failed';
    }
    await ledger.push.end(n, 'given_up');
    deps.onAttempt?.('given_up');
    log.warn(
      { ...about, failures, failing_s: Math.round(failingMs / 1000), detail },
      'push notifications given up',
    );
    return 'over';
  };

  return {
    async backOff() {
      if (failures === 0) return;
      const backoff = {
        firstMs: FIRST_RETRY_MS,
        longestMs: LONGEST_RETRY_MS,
        random: deps.random ?? Math.random,
      };
      const askedMs = Math.min((retryAfterS ?? 0) * 1000, LONGEST_RETRY_MS);
      await clock.sleep(Math.max(backoffMs(failures, backoff), askedMs), signal);
    },
    async send(id, notification) {
      // It may have been deleted, or erased with its task, while it waited.
      if (ledger.push.get(n)?.state !== 'active') return 'over';
      const headers = { 'webhook-id': id, ...deps.signer?.sign(id, notification.body) };
      const options = { rules: deps.rules ?? {}, clock, signal, headers };
      const failure = await sendNotification(config, notification, options);
      deps.slots.heard({ caller, host }, failure?.isAnswered ?? true);
      retryAfterS = failure?.retryAfterS;
      if (failure) return await failed(failure);
      deps.onAttempt?.('ok');
      failures = 0;
      failingSince = undefined;
      return 'sent';
    },
  };
}
