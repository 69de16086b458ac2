import {
  type A2AOptions,
  createPushService,
  createPushSigner,
  type PushOptions,
  registerA2A,
} from '@hermes-fleet/a2a';
import {
  createApp,
  createAuthenticator,
  type Host,
  onShutdown,
  type Readiness,
  type ShutdownStep,
} from '@hermes-fleet/service';
import { callerView } from '../http/caller-view.ts';
import { registerFleetRoutes } from '../http/routes.ts';
import { registerJoinRoutes } from '../joining/join-routes.ts';
import { createJoining } from '../joining/joining.ts';
import { cardOf, EXTENSIONS, ownHosts, publicUrl } from './card.ts';
import { listen } from './listen.ts';
import type { Member, MemberGateway } from './open-member.ts';
import { type RetainedContexts, startRetention } from './retention.ts';
import { finishTasks, type ServingMember } from './shutdown-steps.ts';

type App = ReturnType<typeof createApp>;

/** The maximum request body of a member that names none. */
const BODY_LIMIT_BYTES = 1_048_576;

/** The parts of serving that differ between services. */
export interface MemberService {
  /** Default: this process. */
  readonly host?: Host;
  /** Default: the gateway. */
  readonly intake?: A2AOptions['intake'];
  readonly a2a?: Pick<A2AOptions, 'methods' | 'sendScopes' | 'readsText' | 'onRefused'>;
  readonly bodyLimitBytes?: number;
  readonly countCache: boolean;
  /** Resolves the hosts of push targets; default: the system's resolver. */
  readonly resolvePushHost?: NonNullable<PushOptions['rules']>['resolve'];
  /** The contexts that go with their tasks; absent for a member without any. */
  readonly contexts?: RetainedContexts | undefined;
  readonly readiness: (stopping: boolean) => Readiness;
  /** Adds routes beside A2A and the fleet's. */
  readonly routes?: (app: App) => void;
  /** Resumes the unfinished work of an earlier process, before the listener opens. */
  readonly recover: () => Promise<void>;
  /** Called right before the listener opens. */
  readonly beforeListen?: () => void;
  /** `leave` makes the member answer 503 at `/ready`; tasks get `graceMs` to reach a checkpoint. */
  readonly shutdownSteps: (serving: ServingMember, leave: () => void, graceMs: number) => ShutdownStep[];
  /** The time for the shutdown steps beside the tasks' grace period, ms. */
  readonly afterTasksMs: number;
}

/**
 * Serves a member: registers its routes, resumes unfinished work, opens the listener, and announces it
 * (docs/architecture.md). Resolves when the member serves, or when a shutdown has begun before that. From then on the
 * shutdown closes everything in `opened`.
 */
export async function serveMember(
  member: Member,
  { client, peers, directory, gateway, announcer }: MemberGateway,
  service: MemberService,
  opened: AsyncDisposableStack,
): Promise<void> {
  const { profile, version, config, server, credentials, ledger, clock, log, metrics, tracing } = member;
  const { server: files } = member.tls;
  const { countCache, bodyLimitBytes = BODY_LIMIT_BYTES } = service;
  const { limits, push: pushConfig } = config.fleet;
  const stopping = new AbortController();
  const { signal } = stopping;
  const joining = config.fleet.orchestrate
    ? createJoining({ ...member, policy: credentials.join, directory, peers, client })
    : undefined;
  const readiness = (): Readiness => service.readiness(signal.aborted);
  metrics.read({
    fleet_dependency_up: () =>
      Object.entries(readiness().dependencies).map(([dependency, { state }]) => [
        { dependency },
        state === 'ok',
      ]),
  });
  const app = createApp({
    name: profile,
    version,
    log,
    metrics,
    tracing,
    hosts: ownHosts(server),
    tls: files && { files, clientCert: server.tls?.client_cert ?? 'none' },
    connections: {
      maxConnections: limits.max_connections,
      maxUnauthenticated: limits.max_unauthenticated_connections,
      unauthenticatedIdleMs: limits.unauthenticated_idle_s * 1000,
    },
    bodyLimitBytes,
    authenticate: server.auth_required
      ? createAuthenticator(credentials.callers, joining?.callerOf)
      : undefined,
    readiness,
  });
  const signer = credentials.pushKey && createPushSigner(credentials.pushKey, clock);
  if (signer) log.info({ profile, public_key: signer.publicKey }, 'push notifications are signed');
  const push = createPushService({
    ledger,
    rules: { allowInternal: pushConfig.allow_internal, resolve: service.resolvePushHost },
    limits: { perTask: pushConfig.max_per_task, perCaller: pushConfig.max_per_caller },
    giveUpAfterMs: pushConfig.give_up_after_s * 1000,
    metadata: gateway.replyMetadata,
    rpcUrl: () => publicUrl(server),
    signer,
    onAttempt: (result) => metrics.add('fleet_push_attempts_total', { result }),
    clock,
    log,
  });
  opened.defer(() => push.stop());
  const a2a = registerA2A(app, {
    ledger,
    intake: service.intake ?? gateway,
    log,
    clock,
    replyMetadata: gateway.replyMetadata,
    maxStreamsPerCaller: limits.max_streams_per_caller,
    extensions: EXTENSIONS.map(({ uri }) => uri),
    callerView: (caller) => callerView(caller, { peers, gateway, clock, limits, bodyLimitBytes }),
    push: pushConfig.enabled ? push : undefined,
    card: (request) => cardOf(config.fleet, server, member.identity, request),
    ...service.a2a,
  });
  service.routes?.(app);
  if (joining) registerJoinRoutes(app, joining);
  registerFleetRoutes(app, { profile, peers, gateway, ledger, clock, countCache });

  const retention = startRetention({
    ledger,
    clock,
    log,
    finishedTasksDays: config.fleet.retention.finished_tasks_days,
    resultsDays: config.fleet.retention.results_days,
    conversationsMb: config.fleet.retention.conversations_mb,
    contexts: service.contexts,
  });
  opened.defer(() => retention.close());

  const graceMs = config.fleet.shutdown.grace_s * 1000;
  const drainMs = config.fleet.shutdown.drain_s * 1000;
  const serving = { ...member, gateway, announcer, retention, push, a2a, app };
  const signals = onShutdown({
    log,
    signals: service.host?.signals,
    exit: service.host?.exit,
    graceMs: drainMs + graceMs + service.afterTasksMs,
    steps: [
      ...(drainMs > 0
        ? [{ name: 'finish the tasks', run: () => finishTasks({ gateway, a2a, clock, log }, drainMs) }]
        : []),
      ...service.shutdownSteps(serving, () => stopping.abort(), graceMs),
      ...(tracing ? [{ name: 'send the last traces', run: () => tracing.close() }] : []),
    ],
  });
  try {
    await service.recover();
    if (!signal.aborted) {
      if (pushConfig.enabled) push.start();
      service.beforeListen?.();
      await listen(app, profile, server);
    }
  } catch (error) {
    if (!signal.aborted) {
      signals[Symbol.dispose]();
      throw error;
    }
  }
  // From here on the shutdown closes everything; it may have begun already.
  opened.move();
  if (!signal.aborted) announcer.start();
}
