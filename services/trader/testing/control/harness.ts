import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Concern, Strategy } from '@hermes-fleet/market';
import { type JsonObject, snakeize } from '@hermes-fleet/protocol';
import {
  type ControlDecision,
  ControlDecisionWire,
  ControlResponseWire,
  encodeControlResponse,
  type RiskMode,
} from '@hermes-fleet/protocol/control';
import type { Caller, Log } from '@hermes-fleet/protocol/ports';
import { type ManualClock, recordingLog, START, tempDir } from '@hermes-fleet/protocol/testing';
import type { AuditRecord } from '../../src/control/control-store.ts';
import {
  createDecisionService,
  type DecisionServiceOptions,
  type RunningDecisionService,
} from '../../src/control/create-decision-service.ts';
import type { Answer, Attempt } from '../../src/control/decision-service.ts';
import type { HoldMarks } from '../../src/control/unwritten-restrictions.ts';
import { openHoldMarks } from '../../src/store/hold-files.ts';
import { replay } from '../../src/store/replay.ts';
import { openTestStore } from '../store/harness.ts';
import { CONCERN, decisionOf, NOW, outcomeOf, POLICY, type Request, STRATEGIES } from './decisions.ts';
import { type Fault, type FaultyStore, withFaults } from './faulty-store.ts';
import { createTestRuntime, type TestRuntime } from './runtime.ts';

const caller = (name: string, ...scopes: string[]): Caller => ({ name, scopes: new Set(scopes) });
export const OPERATOR = caller('operator', 'trader:read', 'trader:decide', 'trader:override');
/** A caller with the account `acc`, without override. */
export const SWITCH = caller('switch', 'trader:read', 'trader:decide');
/** A caller with the account `other`. */
export const STRANGER = caller('stranger', 'trader:read', 'trader:decide', 'trader:override');
export const NOBODY = caller('nobody', 'read', 'dispatch');

/** A second market of the account, and a market of another account. */
export const BITCOIN: Concern = {
  id: 'acc:btcusd',
  accountId: 'acc',
  marketSymbol: 'btcusd',
  rev: 0,
  activeStrategyId: 'foreign',
  runState: 'running',
  riskMode: 'normal',
};
export const OTHERS: Concern = {
  id: 'other:xrpusd',
  accountId: 'other',
  marketSymbol: 'xrpusd',
  rev: 0,
  activeStrategyId: 'others',
  runState: 'running',
  riskMode: 'normal',
};
export const ALL_STRATEGIES: readonly Strategy[] = [
  ...STRATEGIES,
  {
    id: 'others',
    name: 'others',
    kind: 'k',
    accountId: 'other',
    marketSymbol: 'xrpusd',
    params: { n: 1 },
    status: 'enabled',
  },
];

export interface TestDecisionService {
  readonly decisions: RunningDecisionService;
  readonly store: FaultyStore;
  readonly runtime: TestRuntime;
  /** The mark that a start would find for the concern now. */
  marked(): RiskMode | undefined;
  /** The folder of the marks. */
  readonly marksDir: string;
  readonly clock: ManualClock;
  readonly log: ReturnType<typeof recordingLog>;
  /** Calls of the observer. */
  readonly reported: string[];
  /** Sends a payload text. */
  send(text: string | null, o?: Partial<Attempt>): Promise<Answer>;
  /** Sends a decision and returns its result as text. */
  ask(request: Request, o?: Partial<Attempt>): Promise<string>;
  concern(id?: string): Concern | undefined;
  /** All audit records. */
  audit(): AuditRecord[];
  /** The status, kind or outcome of each audit record. */
  kinds(): string[];
  /** Advances the clock by `ms` and waits for the resulting writes. */
  pass(ms: number): Promise<void>;
  /** A new decision service and runtime on the same file, as after a crash. */
  restart(...fate: TestRuntime['fate']): Promise<TestDecisionService>;
  /** The same, on a store whose command fails. */
  restartWhile(command: 'hold', fault: Fault): Promise<TestDecisionService>;
  /** Asserts that the audit is intact and replays to the state, and that the runtime matches the state. */
  assertSound(): Promise<void>;
}

let counter = 0;
/** A new decision id. */
export const freshId = (): string => {
  counter += 1;
  return `dec-${counter}`;
};

/** The payload of a decision; an unused field without a value is null. */
export const payloadOf = ({ unused, ...decision }: ControlDecision): JsonObject => ({
  ...Object.fromEntries(unused.map((field) => [field, null])),
  ...JSON.parse(JSON.stringify(snakeize(ControlDecisionWire, decision))),
});

export const textOf = (request: Request): string =>
  JSON.stringify(payloadOf(decisionOf({ decisionId: freshId(), ...request })));

export async function openDecisionService(
  t: TestContext,
  o: Partial<
    Pick<DecisionServiceOptions, 'policy' | 'limits' | 'tracing' | 'brokenAudit' | 'performanceOf'>
  > & {
    readonly concern?: Partial<Concern>;
  } = {},
): Promise<TestDecisionService> {
  const file = openTestStore(t);
  file.clock.advance(NOW - START);
  await file.store.seed(ALL_STRATEGIES, [{ ...CONCERN, ...o.concern }, BITCOIN, OTHERS]);
  const clock: ManualClock = {
    ...file.clock,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const timer = file.clock.timer(resolve, ms);
        signal?.addEventListener('abort', () => {
          timer[Symbol.dispose]();
          reject(signal.reason);
        });
      }),
  };
  const marksDir = join(tempDir(t), 'holds');
  const openMarks = (log: Log): HoldMarks =>
    openHoldMarks({ dir: marksDir, concernIds: [CONCERN.id, BITCOIN.id, OTHERS.id], log });
  const build = async (store: FaultyStore, fate: TestRuntime['fate'] = []): Promise<TestDecisionService> => {
    const runtime = createTestRuntime(...fate);
    const log = recordingLog();
    const reported: string[] = [];
    const decisions = createDecisionService({
      store,
      runtime,
      marks: openMarks(log),
      log,
      clock,
      tracing: o.tracing,
      policy: o.policy ?? POLICY,
      ...(o.brokenAudit && { brokenAudit: o.brokenAudit }),
      ...(o.performanceOf && { performanceOf: o.performanceOf }),
      limits: o.limits ?? { perSecond: 1e6, burst: 1e6, keptForPause: 20 },
      access: {
        accountsOf: (name) =>
          ({ operator: '*' as const, breaker: '*' as const, switch: ['acc'], stranger: ['other'] })[name] ??
          [],
      },
      metrics: { add: (_name, labels) => void reported.push(Object.values(labels).join(' ')) },
    });
    t.after(() => decisions.close());
    const recovered = decisions.recover();
    await settled(store);
    await recovered;
    const send: TestDecisionService['send'] = async (text, attempt = {}) => {
      const decided = await decisions.decide({ transport: 'jsonrpc', caller: OPERATOR, text, ...attempt });
      ControlResponseWire.parse(encodeControlResponse(decided.response));
      return decided;
    };
    const audit = (): AuditRecord[] => store.audit(0, 10_000);
    const test: TestDecisionService = {
      decisions,
      store,
      runtime,
      marked: () => openMarks(recordingLog()).found(CONCERN.id),
      marksDir,
      log,
      reported,
      send,
      audit,
      clock,
      ask: async (request, attempt) => outcomeOf((await send(textOf(request), attempt)).response),
      concern: (id = CONCERN.id) => store.concern(id),
      kinds: () =>
        audit().map(({ record }) =>
          `${record['kind']} ${record['status'] ?? record['outcome'] ?? ''}`.trim(),
        ),
      pass: async (ms) => {
        file.clock.advance(ms);
        await settled(store);
      },
      restart: async (...fate) => {
        void decisions.close();
        return build(withFaults(await file.reopen()), fate);
      },
      restartWhile: async (command, fault) => {
        void decisions.close();
        const again = withFaults(await file.reopen());
        again.faults.set(command, fault);
        return build(again);
      },
      assertSound: async () => {
        await test.pass(0);
        assert.deepEqual((await store.verify()).broken, undefined);
        const concerns = new Map(store.concerns().map((concern) => [concern.id, concern]));
        assert.deepEqual(new Map([...replay(audit())].sort()), new Map([...concerns].sort()));
        for (const { id, activeStrategyId, runState, riskMode } of concerns.values())
          assert.deepEqual(runtime.does.get(id), { activeStrategyId, runState, riskMode });
        assert.deepEqual(store.openApplies(), []);
      },
    };
    return test;
  };
  return build(withFaults(file.store));
}

/** Resolves when all earlier store commands and their continuations are done. */
async function settled(store: FaultyStore): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await store.setStatus('trend', 'enabled', 'it is');
}
