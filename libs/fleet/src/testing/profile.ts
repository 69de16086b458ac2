import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { buildAgentCard, createA2AClient, registerA2A } from '@hermes-fleet/a2a';
import { type FleetConfig, FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { type Ledger, openLedger, type TaskRecord } from '@hermes-fleet/ledger';
import { type Announcer, createAnnouncer, createPeerRegistry, type PeerRegistry } from '@hermes-fleet/peers';
import {
  type Caller,
  decodeResult,
  type Executor,
  HANDSHAKE_EXTENSION,
  type InboundMessage,
  type JsonObject,
  PROTOCOL_VERSIONS,
  type RunContext,
  type RunOutcome,
  silentLog,
  systemClock,
  systemIds,
  TERMINAL_EVENTS,
} from '@hermes-fleet/protocol';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { createGateway, type Gateway } from '../gateway.ts';
import { inbound } from './messages.ts';

export const CALLER: Caller = { name: 'operator', scopes: new Set(['announce', 'dispatch', 'read']) };
export const DONE: RunOutcome = {
  status: 'done',
  nextSteps: [],
  blockedReason: null,
  artifacts: { filesChanged: [] },
};

export type Script = (task: Parameters<Executor['run']>[0], context: RunContext) => Promise<RunOutcome>;
type Health = 'ok' | 'timeout' | 'error' | 'disabled';

/** What a test can change about a profile while it runs. */
export interface Facts {
  clean: boolean;
  mcp: Record<string, Health>;
}

export interface ProfileOptions {
  readonly name?: string;
  readonly script?: Script;
  readonly fleet?: JsonObject;
  /** Other profiles of the test, by name: their ports. */
  readonly agents?: Readonly<Record<string, number>>;
  readonly tier?: string;
  readonly defaultBudget?: number;
  /** As `budget.count_cache` of config.yaml. */
  readonly countCache?: boolean;
  /** 0 to 1, for backoff; Math.random when absent. */
  readonly random?: () => number;
  /** The handshake versions that it speaks, as GatewayOptions.versions: its messages are labelled so. */
  readonly versions?: readonly string[];
  /** Puts something between the gateway and its ledger. */
  readonly ledger?: (real: Ledger) => Ledger;
}

/** A profile on a real ledger and, once it serves, a real port; the executor is the test's script. */
export interface TestProfile {
  readonly name: string;
  readonly port: number;
  readonly facts: Facts;
  readonly gateway: Gateway;
  readonly ledger: Ledger;
  readonly peers: PeerRegistry;
  readonly announcer: Announcer;
  /** The tasks that the executor was called with, in order. */
  readonly runs: string[];
  /** Resolves with the first of them. */
  readonly firstRun: Promise<string>;
  /** Resolves when this peer has announced itself. */
  heard(peer: string): Promise<void>;
  /** What Prometheus would read. */
  metrics(): Promise<string>;
  /** Opens the listener on the profile's port. */
  serve(): Promise<void>;
  /** As a crash does it: nothing is written any more and the port is closed. */
  crash(): Promise<void>;
  /** Stops it for good, before the test ends. */
  end(): Promise<void>;
  /** Takes up the same ledger and port again. */
  restart(script?: Script): Promise<void>;
  /** Accepts a message and gives the task's id. */
  send(message: Partial<InboundMessage>, caller?: Caller): Promise<string>;
  task(id: string): TaskRecord;
  /** The result of a task, once it has ended. */
  result(id: string): Promise<ReturnType<typeof decodeResult>>;
  /** Resolves with the first event of this type, or with a later one. */
  event(id: string, type: string, nth?: number): Promise<JsonObject>;
  events(id: string): string[];
}

/** Ports given out by this process: the system may offer one again as soon as it is free. */
const given = new Set<number>();

export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    if (address === null || typeof address === 'string') throw new Error('no port');
    if (given.has(address.port)) continue;
    given.add(address.port);
    return address.port;
  }
}

const tokenOf = (caller: string, callee: string): string => `token-of-${caller}-for-${callee}`;

export async function profile(t: TestContext, o: ProfileOptions = {}): Promise<TestProfile> {
  const name = o.name ?? 'neo';
  const dir = mkdtempSync(join(tmpdir(), `fleet-${name}-`));
  const versions = o.versions ?? PROTOCOL_VERSIONS;
  const port = (o.agents?.[name] as number | undefined) ?? (await freePort());
  const others = Object.entries(o.agents ?? {}).filter(([other]) => other !== name);
  const config = configOf(name, port, others, o.fleet ?? {});
  const facts: Facts = { clean: true, mcp: { memory: 'ok' } };
  const runs: string[] = [];
  const firstRun = Promise.withResolvers<string>();
  const heard = new Map<string, PromiseWithResolvers<void>>();
  const hearing = (peer: string): PromiseWithResolvers<void> => {
    const known = heard.get(peer) ?? Promise.withResolvers<void>();
    heard.set(peer, known);
    return known;
  };
  let script: Script = o.script ?? (async () => DONE);
  let life = await start();

  async function start() {
    const ledger = openLedger({
      file: join(dir, 'ledger.db'),
      profile: name,
      clock: systemClock,
      ids: systemIds,
      log: silentLog,
    });
    const metrics = createMetrics({
      profile: name,
      peers: others.map(([other]) => other),
      callers: ['operator'],
      defaultMetrics: false,
    });
    const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [HANDSHAKE_EXTENSION] });
    const configured = Object.fromEntries(
      others.map(([other, at]) => [
        other,
        { url: `http://127.0.0.1:${at}/jsonrpc`, token: tokenOf(name, other) },
      ]),
    );
    const known = createPeerRegistry({ ledger, configured, clock: systemClock, log: silentLog, self: name });
    const peers: PeerRegistry = {
      ...known,
      async record(announce, caller) {
        const recorded = await known.record(announce, caller);
        hearing(announce.worker.agentId).resolve();
        return recorded;
      },
    };
    const announcer = createAnnouncer({
      self: () => life.gateway.freshAnnounce(),
      peers,
      client,
      clock: systemClock,
      log: silentLog,
      metrics,
    });
    const executor: Executor = {
      model: { id: 'scripted', tier: o.tier ?? 'sonnet', contextWindow: 10_000 },
      run(task, context) {
        runs.push(task.id);
        firstRun.resolve(task.id);
        return script(task, context);
      },
    };
    const gateway = createGateway({
      profile: name,
      version: '0',
      ledger: o.ledger?.(ledger) ?? ledger,
      peers,
      announcer,
      client,
      metrics,
      config,
      defaultBudget: o.defaultBudget,
      ...(o.countCache === undefined ? {} : { countCache: o.countCache }),
      ...(o.random ? { random: o.random } : {}),
      versions,
      agent: {
        executor,
        capabilities: () => ({ tools: ['terminal', 'file'] }),
        repoState: async () => ({ branch: 'main', clean: facts.clean }),
        minimumBudget: 100,
      },
      mcp: {
        names: () => Object.keys(facts.mcp),
        health: () =>
          Object.fromEntries(Object.entries(facts.mcp).map(([key, state]) => [key, measured(state)])),
        probe: async (key) => measured(facts.mcp[key] ?? 'error'),
        onChange: () => ({ [Symbol.dispose]: () => undefined }),
      },
      clock: systemClock,
      ids: systemIds,
      log: silentLog,
    });
    return {
      ledger,
      peers,
      announcer,
      gateway,
      metrics,
      app: undefined as ReturnType<typeof createApp> | undefined,
    };
  }

  async function serve(): Promise<void> {
    const { gateway, ledger, metrics } = life;
    const callers = ['operator', ...others.map(([other]) => other)].map((caller) => ({
      name: caller,
      scopes: [...CALLER.scopes],
      secret: tokenOf(caller, name),
    }));
    const app = createApp({
      name,
      version: '0',
      log: createLogger({ name, level: 'silent' }),
      metrics,
      authenticate: createAuthenticator(callers),
      readiness: () => ({ ready: true, dependencies: {} }),
    });
    registerA2A(app, {
      ledger,
      intake: gateway,
      extensions: [HANDSHAKE_EXTENSION],
      log: silentLog,
      clock: systemClock,
      card: () =>
        buildAgentCard({
          identity: `# ${name}\n\nA profile.`,
          url: `http://127.0.0.1:${port}/jsonrpc`,
          version: '0',
          streaming: true,
          authRequired: true,
          extensions: [{ uri: HANDSHAKE_EXTENSION, params: { protocol_versions: [...versions] } }],
        }),
      replyMetadata: (taskId) => gateway.replyMetadata(taskId),
    });
    await app.listen({ host: '127.0.0.1', port });
    life.app = app;
  }

  async function crash(): Promise<void> {
    const { app, ledger, announcer } = life;
    app?.server.closeAllConnections();
    const closed = app?.close();
    await ledger.close();
    await Promise.all([closed, announcer.close()]);
  }

  let ended = false;
  async function end(): Promise<void> {
    if (ended) return;
    ended = true;
    await life.gateway.stop(1_000);
    await crash();
    rmSync(dir, { recursive: true, force: true });
  }
  t.after(end);

  const task = (id: string): TaskRecord => {
    const record = life.ledger.get(id);
    if (!record) throw new Error(`no task ${id}`);
    return record;
  };
  const events = (id: string) => life.ledger.events(id).filter(({ type }) => type !== 'text');
  async function seen(id: string, wanted: (type: string) => boolean, nth = 1): Promise<JsonObject> {
    let count = 0;
    for await (const event of life.ledger.watch(id, 0, AbortSignal.timeout(20_000))) {
      if (wanted(event.type)) count += 1;
      if (count === nth) return event.data;
    }
    throw new Error(
      `task ${id} ended before: ${events(id)
        .map(({ type }) => type)
        .join(' ')}`,
    );
  }
  return {
    name,
    port,
    facts,
    get gateway() {
      return life.gateway;
    },
    get ledger() {
      return life.ledger;
    },
    get peers() {
      return life.peers;
    },
    get announcer() {
      return life.announcer;
    },
    runs,
    firstRun: firstRun.promise,
    heard: (peer) => hearing(peer).promise,
    metrics: () => life.metrics.registry.metrics(),
    serve,
    crash,
    end,
    async restart(next) {
      const served = life.app !== undefined;
      if (next) script = next;
      life = await start();
      await life.gateway.recover();
      if (served) await serve();
    },
    async send(message, caller = CALLER) {
      const accepted = await life.gateway.accept(inbound(message), caller);
      if (accepted.kind !== 'task') throw new Error('answered with a message');
      return accepted.taskId;
    },
    task,
    async result(id) {
      await seen(id, (type) => TERMINAL_EVENTS.has(type));
      return decodeResult(task(id).result);
    },
    event: (id, type, nth) => seen(id, (each) => each === type, nth),
    events: (id) => events(id).map(({ type }) => type),
  };
}

/** A run that goes on until it is aborted, and then ends as an honest executor does. */
export const untilAborted: Script = (_task, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** A run that asks one question after another, and ends with the answers. */
export const asking =
  (...questions: string[]): Script =>
  async (_task, { ask }) => {
    const answers: string[] = [];
    for (const [at, question] of questions.entries()) answers.push(await ask(question, { key: `q${at}` }));
    return { ...DONE, text: answers.join(', ') };
  };

const measured = (state: Health) => ({
  state,
  detail: state === 'timeout' ? 'timeout after 1000 ms' : '',
  checkedAt: Date.now(),
});

function configOf(
  name: string,
  port: number,
  others: readonly (readonly [string, number])[],
  extra: JsonObject,
): FleetConfig {
  const callers = ['operator', ...others.map(([other]) => other)].map((caller) => [
    caller,
    { token_env: 'TOKEN', scopes: [...CALLER.scopes] },
  ]);
  return FleetConfigSchema.parse({
    fleet: {
      purpose: `the tests' ${name}`,
      server: { bind_port: port, callers: Object.fromEntries(callers) },
      agents: Object.fromEntries(others.map(([other, at]) => [other, { url: `http://127.0.0.1:${at}` }])),
      ...extra,
    },
  });
}
