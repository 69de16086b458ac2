import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { AgentCard, registerA2A } from '@hermes-fleet/a2a';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import type { Concern, Runtime, Strategy } from '@hermes-fleet/market';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import {
  type Caller,
  type InboundMessage,
  type Intake,
  type Log,
  type Scope,
  systemClock,
  systemIds,
} from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { DECIDE } from '../../src/control/access.ts';
import type { ControlStore } from '../../src/control/control-store.ts';
import {
  createDecisionService,
  type DecisionServiceOptions,
} from '../../src/control/create-decision-service.ts';
import type { DecisionService } from '../../src/control/decision-service.ts';
import { openHoldMarks } from '../../src/store/hold-files.ts';
import { openControlStore } from '../../src/store/sqlite-store.ts';
import { type ControlIntake, createControlIntake } from '../../src/transports/a2a.ts';
import { isControlDecision } from '../../src/transports/control-part.ts';
import { registerMcp } from '../../src/transports/mcp.ts';
import { auditRefusals } from '../../src/transports/refusals.ts';
import { controlMethods } from '../../src/transports/rpc.ts';

export const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
export const TREND = '0c555fee-e4c8-4543-ae70-c132517017e1';
const OF = { accountId: 'qndd8o9ppop6', marketSymbol: 'xrpusd' };
export const CONCERN: Omit<Concern, 'rev'> = {
  id: 'qndd8o9ppop6:xrpusd',
  ...OF,
  activeStrategyId: GRID,
  runState: 'running',
  riskMode: 'normal',
};
const STRATEGIES: readonly Strategy[] = [
  { id: GRID, name: 'grid', kind: 'grid_trader', ...OF, params: { levels: 5 }, status: 'enabled' },
  { id: TREND, name: 'trend', kind: 'trend_follower', ...OF, params: {}, status: 'enabled' },
];

const SCOPES: Readonly<Record<string, readonly Scope[]>> = {
  operator: ['announce', 'dispatch', 'read', 'trader:read', 'trader:decide', 'trader:override'],
  decider: ['trader:decide'],
  reader: ['trader:read'],
  guest: ['announce', 'read'],
};

export const tokenOf = (caller: string): string => `token-of-${caller}-0123456789`;
export const callerNamed = (name: string): Caller => ({ name, scopes: new Set(SCOPES[name] ?? []) });

/** The payload of a decision; a pause by default. */
export const decision = (fields: JsonObject = {}): JsonObject => ({
  decision_id: systemIds.uuid(),
  concern_id: CONCERN.id,
  account_id: OF.accountId,
  market_symbol: OF.marketSymbol,
  action: 'pause',
  reason: 'a test',
  confidence: 0.8,
  ...fields,
});

/** The audit record of an attempt. */
export interface Audited {
  readonly transport: string;
  readonly caller: string;
  readonly text: string | null;
  readonly status: string;
  readonly codes: readonly string[];
  readonly onBehalfOf: string | undefined;
  readonly traceparent: string | undefined;
}

export interface OpenTransports {
  readonly url: string;
  readonly decisions: DecisionService;
  readonly store: ControlStore;
  readonly ledger: Ledger;
  readonly intake: ControlIntake;
  /** Messages that the gateway received. */
  readonly passedOn: InboundMessage[];
  readonly canceled: string[];
  /** Audited attempts since the previous call. */
  audited(): Audited[];
  post(path: string, body: string | Buffer<ArrayBuffer>, o?: PostOptions): Promise<Posted>;
}

export interface PostOptions {
  /** Default: `operator`; null sends no token. */
  readonly as?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Posted {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

export interface TransportsOptions {
  readonly runtime?: Partial<Runtime>;
  readonly limits?: DecisionServiceOptions['limits'];
  /** The log of the decisions, and of the tasks that they are. */
  readonly log?: Log;
}

/** All transports on a real server with real decision service, store and ledger; engines and gateway are fakes. */
export async function openTransports(t: TestContext, o: TransportsOptions = {}): Promise<OpenTransports> {
  const dir = tempDir(t);
  const log = createLogger({ name: 'trader', level: 'silent' });
  const common = { clock: systemClock, ids: systemIds, log };
  const store = openControlStore({ file: join(dir, 'control.db'), service: 'trader', ...common });
  t.after(() => store.close());
  const ledger = openLedger({ file: join(dir, 'ledger.db'), profile: 'trader', ...common });
  t.after(() => ledger.close());
  await store.seed(STRATEGIES, [CONCERN]);
  const decisions = createDecisionService({
    store,
    runtime: { ...RUNTIME, ...o.runtime },
    marks: openHoldMarks({ dir: join(dir, 'holds'), concernIds: [CONCERN.id], log }),
    clock: systemClock,
    log: o.log ?? log,
    policy: { maxAgeMs: 300_000, futureSlackMs: 60_000, minConfidence: 0, strictDegraded: false },
    access: { accountsOf: () => '*' },
    limits: o.limits ?? { perSecond: 1000, burst: 1000, keptForPause: 20 },
    metrics: { add: () => undefined },
  });
  t.after(() => decisions.close());
  const passedOn: InboundMessage[] = [];
  const canceled: string[] = [];
  const gateway: Intake = {
    accept: async (message) => {
      passedOn.push(message);
      return { kind: 'reply', contextId: message.contextId ?? 'c', text: 'for the gateway' };
    },
    cancel: async (taskId) => void canceled.push(taskId),
  };
  const intake = createControlIntake({
    decisions,
    ledger,
    gateway,
    callerNamed,
    ...common,
    log: o.log ?? log,
  });
  const app = createApp({
    name: 'trader',
    version: '0.1.0',
    log,
    bodyLimitBytes: 16_384,
    authenticate: createAuthenticator(
      Object.entries(SCOPES).map(([name, scopes]) => ({ name, scopes, secret: tokenOf(name) })),
    ),
    metrics: createMetrics({ profile: 'trader', peers: [], callers: [], defaultMetrics: false }),
    readiness: () => ({ ready: true, dependencies: {} }),
  });
  registerA2A(app, {
    ledger,
    intake,
    extensions: [],
    log,
    clock: systemClock,
    methods: controlMethods(decisions),
    onRefused: auditRefusals(decisions),
    sendScopes: [DECIDE],
    readsText: isControlDecision,
    card: () => AgentCard.fromJSON({ name: 'trader', capabilities: { streaming: true } }),
  });
  registerMcp(app, { decisions, name: 'trader', version: '0.1.0' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(async () => {
    app.server.closeAllConnections();
    await app.close();
    await intake.close();
  });

  let seen = store.head().seq;
  const audited = (): Audited[] => {
    const records = store.audit(seen, 1000);
    seen = records.at(-1)?.seq ?? seen;
    return records.filter(({ record }) => record.kind === 'attempt').map(({ record }) => attemptIn(record));
  };
  const post: OpenTransports['post'] = async (path, body, { as = 'operator', headers = {} } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(as === null ? {} : { authorization: `Bearer ${tokenOf(as)}` }),
        ...headers,
      },
      body,
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? {} : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: isJsonObject(parsed) ? parsed : {} };
  };
  return { url, decisions, store, ledger, intake, passedOn, canceled, audited, post };
}

const RUNTIME: DecisionServiceOptions['runtime'] = {
  setHold: () => undefined,
  preflight: () => undefined,
  reconcile: async () => ({ canceledOrders: 2 }),
  health: () => ({ degraded: false, reasons: [] }),
  view: () => undefined,
};

function attemptIn(record: JsonObject): Audited {
  const word = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    transport: String(record.door),
    caller: String(record.caller),
    text: word(record.text) ?? null,
    status: String(record.status),
    codes: codesOf(record.response),
    onBehalfOf: word(record.on_behalf_of),
    traceparent: word(record.traceparent),
  };
}

/** The errors of a response. */
export function errorsOf(response: unknown): JsonObject[] {
  const errors = isJsonObject(response) && Array.isArray(response.errors) ? response.errors : [];
  return errors.filter(isJsonObject);
}

export const codesOf = (response: unknown): string[] => errorsOf(response).map(({ code }) => String(code));

/** Reads a nested JSON value by keys and indices; undefined if the path does not exist. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>((found, key) => {
    if (Array.isArray(found)) return found[Number(key)];
    return isJsonObject(found) ? found[key] : undefined;
  }, value);
}
