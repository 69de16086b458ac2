import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { buildAgentCard, createA2AClient, registerA2A } from '@hermes-fleet/a2a';
import { type FleetConfig, FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { openLedger, type TaskRecord } from '@hermes-fleet/ledger';
import { createAnnouncer, createPeerRegistry, type PeerRegistry } from '@hermes-fleet/peers';
import {
  HANDSHAKE_EXTENSION,
  type JsonObject,
  PROTOCOL_VERSIONS,
  TERMINAL_EVENTS,
} from '@hermes-fleet/protocol';
import { decodeResult, repositoryCapability } from '@hermes-fleet/protocol/handshake';
import { type Executor, silentLog, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { createGateway } from '../src/gateway.ts';
import { registerFleetRoutes } from '../src/http/routes.ts';
import { freePort } from './free-port.ts';
import { inbound } from './messages.ts';
import { CALLER, DONE, type Script } from './scripts.ts';
import type { Facts, Health, ProfileOptions, TestProfile } from './test-profile.ts';

const tokenOf = (caller: string, callee: string): string => `token-of-${caller}-for-${callee}`;

export async function profile(t: TestContext, o: ProfileOptions = {}): Promise<TestProfile> {
  const name = o.name ?? 'neo';
  let ended = false;
  const dir = o.dir ?? tempDir(t, { closeFirst: () => end() });
  const versions = o.versions ?? PROTOCOL_VERSIONS;
  const port = (o.agents?.[name] as number | undefined) ?? (await freePort());
  const others = Object.entries(o.agents ?? {}).filter(([other]) => other !== name);
  const config = configOf(name, port, others, o.fleet ?? {});
  const facts: Facts = { usable: true, clean: true, mcp: { memory: 'ok' } };
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
      clock: o.clock ?? systemClock,
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
      isFreeOfEffects: o.isFreeOfEffects ?? false,
      savesBeforeEffects: o.savesBeforeEffects ?? false,
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
        capabilities: () => ({
          tools: ['terminal', 'file', ...(o.repositories ?? []).map(repositoryCapability)],
        }),
        repoState: async () => {
          if (!facts.usable) return { branch: '', clean: true, problem: 'git cannot read base.git' };
          if (facts.clean) return { branch: 'main', clean: true };
          return { branch: 'main', clean: false, uncommitted: '/app is dirty (branch main; changed: a.txt)' };
        },
        minimumBudget: 100,
        ...(o.contexts ? { contexts: o.contexts } : {}),
        ...(o.results ? { results: o.results } : {}),
        ...(o.bundles ? { bundles: o.bundles } : {}),
      },
      mcp: {
        names: () => Object.keys(facts.mcp),
        health: () =>
          Object.fromEntries(Object.entries(facts.mcp).map(([key, state]) => [key, measured(state)])),
        probe: async (key) => measured(facts.mcp[key] ?? 'error'),
        onChange: () => ({ [Symbol.dispose]: () => undefined }),
      },
      clock: o.clock ?? systemClock,
      ids: systemIds,
      log: o.log ?? silentLog,
      tracing: o.tracing,
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
          inputModes: config.fleet.files.media_types,
          extensions: [{ uri: HANDSHAKE_EXTENSION, params: { protocol_versions: [...versions] } }],
        }),
      replyMetadata: (taskId) => gateway.replyMetadata(taskId),
    });
    const { peers } = life;
    const clock = o.routesClock ?? systemClock;
    const fleetRoutes = { profile: name, peers, gateway, ledger, clock, countCache: false };
    if (o.routes) o.routes(app);
    else registerFleetRoutes(app, fleetRoutes);
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

  async function end(): Promise<void> {
    if (ended) return;
    ended = true;
    await life.gateway.stop(1_000);
    await crash();
  }

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
    dir,
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
