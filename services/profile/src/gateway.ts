import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildAgentCard, createA2AClient, registerA2A } from '@hermes-fleet/a2a';
import { createAgent, createConfinement } from '@hermes-fleet/agent';
import { createAnnouncer, createGateway, createPeers, tierOf } from '@hermes-fleet/fleet';
import { acquireOwnership, openLedger } from '@hermes-fleet/ledger';
import { createMcpPool } from '@hermes-fleet/mcp';
import {
  systemClock as clock,
  FleetError,
  HANDSHAKE_EXTENSION,
  systemIds as ids,
  PROTOCOL_VERSIONS,
} from '@hermes-fleet/protocol';
import {
  createApp,
  createAuthenticator,
  createLogger,
  createMetrics,
  createSecretEnv,
  onShutdown,
} from '@hermes-fleet/service';
import { connectBus } from './bus.ts';
import { readConfiguration } from './configuration.ts';
import type { Environment } from './environment.ts';
import { publicUrl } from './public-url.ts';
import { readinessOf } from './readiness.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  version: string;
};
const EXTENSIONS = [{ uri: HANDSHAKE_EXTENSION, params: { protocol_versions: [...PROTOCOL_VERSIONS] } }];

/** Of the time that a stop may take, what streams, the outbox and the files get after the tasks. */
const AFTER_TASKS_MS = 5_000;
const FLUSH_MS = 2_000;

/**
 * Starts one profile: configuration, ownership, ledger, bus, MCP servers, agent, unfinished tasks, and last of all the
 * listener (design 1, Start-up and shutdown). Resolves when the profile serves; throws before anything listens.
 */
export async function startGateway(environment: Environment, processEnv: NodeJS.ProcessEnv): Promise<void> {
  const { profile } = environment;
  const log = createLogger({ name: profile, level: environment.logLevel });
  const env = createSecretEnv(processEnv);
  const configuration = readConfiguration(environment, env);
  const { fleet: config, credentials } = configuration;
  const { server } = config.fleet;
  if (!config.fleet.enabled || !server) {
    log.info({ profile }, 'fleet.enabled is false: this profile sends and serves nothing');
    return;
  }
  for (const note of configuration.notes) log.warn({ profile }, note);

  mkdirSync(environment.stateDir, { recursive: true, mode: 0o700 });
  const ownership = acquireOwnership({ dir: environment.stateDir, profile });
  const ledger = openLedger({ file: join(environment.stateDir, 'ledger.db'), profile, clock, ids, log });
  const peerNames = Object.keys(credentials.peers);
  const callers = credentials.callers.map(({ name }) => name);
  const metrics = createMetrics({ profile, peers: peerNames, callers, tiers: config.fleet.tiers });
  const bus = connectBus({ profile, config, env, ledger, clock, log, metrics });

  const confinement = await createConfinement({
    confine: configuration.agent.tools.shell.confine,
    workspaceRoot: environment.workspaceDir,
    repositoryPath: configuration.agent.workspace.path,
    stateDir: environment.stateDir,
    readable: configuration.agent.tools.shell.readable,
    clock,
    log,
  });
  const mcp = createMcpPool({
    servers: configuration.agent.mcp.servers,
    clock,
    log,
    launch: confinement.launch,
    onOperation: metrics.mcpOperation,
  });
  const agent = await createAgent({
    profile,
    config: configuration.agent,
    responseHandler: config.fleet.response_handler,
    tier: tierOf(config, configuration.agent.model),
    workspaceRoot: environment.workspaceDir,
    stateDir: environment.stateDir,
    confinement,
    env,
    clock,
    ids,
    log,
  });
  for (const note of agent.notes) log.info({ profile }, note);

  const client = createA2AClient({ clock, log, extensions: [HANDSHAKE_EXTENSION] });
  const peers = createPeers({ ledger, configured: credentials.peers, clock, log, self: profile });
  const announcer = createAnnouncer({
    self: () => gateway.freshAnnounce(),
    peers,
    client,
    clock,
    log,
    metrics,
  });
  const gateway = createGateway({
    ...{ profile, version, ledger, agent, mcp, peers, announcer, client, clock, ids, log, metrics, config },
    countCache: configuration.agent.budget.count_cache,
  });

  let stopping = false;
  const app = createApp({
    ...{ name: profile, version, log, metrics },
    authenticate: server.auth_required ? createAuthenticator(credentials.callers) : undefined,
    readiness: () => readinessOf({ ledger, bus, mcp, stopping }),
  });
  const a2a = registerA2A(app, {
    ...{ ledger, intake: gateway, log, clock, replyMetadata: gateway.replyMetadata },
    extensions: EXTENSIONS.map(({ uri }) => uri),
    card: (request) =>
      buildAgentCard({
        identity: configuration.identity,
        url: publicUrl(config, request),
        version,
        extensions: EXTENSIONS,
        streaming: true,
        authRequired: server.auth_required,
      }),
  });

  await gateway.recover();
  await app
    .listen({ host: server.bind_host, port: server.bind_port })
    .catch((cause: NodeJS.ErrnoException) => {
      const reason = cause.code === 'EADDRINUSE' ? 'another process listens there' : cause.message;
      throw new FleetError(
        'BIND_FAILED',
        `${profile} cannot listen on ${server.bind_host}:${server.bind_port}: ${reason}`,
        {
          cause,
        },
      );
    });
  announcer.start();

  const graceMs = config.fleet.shutdown.grace_s * 1000;
  onShutdown({
    log,
    graceMs: graceMs + AFTER_TASKS_MS,
    steps: [
      {
        name: 'leave rotation and stop tasks',
        run: async () => {
          stopping = true;
          await Promise.all([announcer.close(), gateway.stop(graceMs)]);
        },
      },
      { name: 'close streams', run: () => a2a.closeStreams() },
      { name: 'close the listener', run: () => app.close() },
      {
        name: 'flush the outbox',
        run: async () => {
          if (bus && !(await bus.flush(FLUSH_MS)))
            log.warn({}, 'events are left in the outbox for the next start');
          await bus?.close();
        },
      },
      {
        name: 'close MCP servers and the agent',
        run: async () => void (await Promise.all([mcp.close(), agent.close()])),
      },
      {
        name: 'close the ledger',
        run: async () => {
          await ledger.close();
          ownership[Symbol.dispose]();
        },
      },
    ],
  });
}
