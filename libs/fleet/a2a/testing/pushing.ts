import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Ledger, type NewPushConfig, openLedger } from '@hermes-fleet/ledger';
import { type Clock, systemIds } from '@hermes-fleet/protocol/ports';
import {
  type ManualClock,
  manualClock,
  type RecordingLog,
  recordingLog,
  tempDir,
} from '@hermes-fleet/protocol/testing';
import { createPushService, type PushService } from '../src/push/push-service.ts';
import type { PushOptions, PushResult } from '../src/push/target.ts';

export interface Pushing {
  readonly ledger: Ledger;
  readonly push: PushService;
  readonly log: RecordingLog;
  /** The outcomes of the attempts, in order. */
  readonly results: PushResult[];
  /** An unfinished task of the caller. */
  begin(caller?: string): Promise<string>;
  /** Creates a config as its method does. */
  create(taskId: string, url: string, more?: Partial<NewPushConfig>): Promise<void>;
  /** Stops the deliveries, and begins them again as the next process does. */
  restart(): Promise<void>;
}

/** A clock on which every sleep is over at once, and has moved the time on. */
export function restlessClock(): { readonly clock: ManualClock; readonly slept: number[] } {
  const clock = manualClock();
  const slept: number[] = [];
  const sleep: Clock['sleep'] = async (ms, signal) => {
    signal?.throwIfAborted();
    slept.push(ms);
    clock.advance(ms);
  };
  return { clock: Object.assign(Object.create(clock), { sleep }), slept };
}

export interface PushingOptions extends Partial<Omit<PushOptions, 'ledger' | 'log'>> {
  /** The ledger as the deliveries see it. */
  readonly counting?: (ledger: Ledger) => Ledger;
}

/** Deliveries to loopback over a real ledger file; both are closed after the test. */
export function startPushing(
  t: TestContext,
  { counting = (ledger) => ledger, ...options }: PushingOptions = {},
): Pushing {
  const dir = tempDir(t, { closeFirst: () => close() });
  const { clock = manualClock() } = options;
  const log = recordingLog();
  const results: PushResult[] = [];
  const openAll = () => {
    const ledger = openLedger({ file: join(dir, 'ledger.db'), profile: 'neo', clock, ids: systemIds, log });
    const push = createPushService({
      rules: { allowInternal: ['127.0.0.1'] },
      limits: { perTask: 10, perCaller: 100 },
      giveUpAfterMs: 10_000,
      rpcUrl: () => 'http://127.0.0.1/jsonrpc',
      random: () => 1,
      onAttempt: (result) => results.push(result),
      ...options,
      ledger: counting(ledger),
      clock,
      log,
    });
    return { ledger, push };
  };
  let opened = openAll();
  const close = async (): Promise<void> => {
    await opened.push.stop();
    await opened.ledger.close();
  };
  return {
    get ledger() {
      return opened.ledger;
    },
    get push() {
      return opened.push;
    },
    log,
    results,
    async begin(caller = 'switch') {
      const { task } = await opened.ledger.accept({
        id: systemIds.uuid(),
        contextId: systemIds.uuid(),
        caller,
        key: systemIds.uuid(),
        fingerprint: 'f',
        message: { messageId: 'm', parts: [{ text: 'work' }] },
        dispatch: { type: 'TASK_DISPATCH', brief: 'work' },
      });
      return task.id;
    },
    async create(taskId, url, { id = 'c', version = '1.0', token, authentication } = {}) {
      const caller = opened.ledger.get(taskId)?.caller ?? '';
      const wanted = { version, url, token, authentication };
      using planned = await opened.push.plan(wanted, caller, { id: taskId, config: id });
      await planned.save(taskId, id);
    },
    async restart() {
      await close();
      opened = openAll();
      opened.push.start();
    },
  };
}
