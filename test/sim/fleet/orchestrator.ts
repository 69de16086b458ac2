import { createPeerRegistry, createSelfAnnounce, type PeerRegistry } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import { decodeAnnounce, encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import { type AdmittedTask, type RunContext, type RunOutcome, silentLog } from '@hermes-fleet/protocol/ports';
import { createBudget } from '@hermes-fleet/protocol/tokens';
import { createRelay, relaySettings } from '@hermes-fleet/relay';
import { createMetrics } from '@hermes-fleet/service';
import { createScheduler, Lane } from '@hermes-fleet/tasks';
import type { TaskSpec } from '../load/workload.ts';
import type { Process } from '../world/process.ts';
import { randomOf } from '../world/random.ts';
import { instanceId } from './instance-id.ts';
import type { OpenTask, OrchestratorStore } from './orchestrator-store.ts';
import { relayClient, type WorkerEndpoint } from './relay-client.ts';
import { ORCHESTRATOR, urlOf, VERSIONS } from './settings.ts';
import type { World } from './world.ts';

/** One process of the orchestrator: the real registry, scheduler, routing and relay over simulated workers. */
export interface Orchestrator {
  readonly peers: PeerRegistry;
  readonly lane: Lane;
  /** Accepts a task; false if its queue is full. */
  submit(spec: TaskSpec): boolean;
  announce(data: JsonObject, from: string): Promise<JsonObject[]>;
  /** Tasks without a ticket of the scheduler: it has lost them. */
  lost(): string[];
}

export interface OrchestratorOptions {
  readonly world: World;
  readonly process: Process;
  readonly store: OrchestratorStore;
  readonly workers: ReadonlyMap<string, WorkerEndpoint>;
  /** Counts the starts, from 1. */
  readonly start: number;
  readonly onEnd: (task: OpenTask, outcome: RunOutcome) => void;
}

export function createOrchestrator(options: OrchestratorOptions): Orchestrator {
  const { world, process, store, workers, start } = options;
  const { clock } = process;
  const { invariants, orchestratorConfig: config } = world;
  const { limits, queue } = config.fleet;
  const random = randomOf(world.seed, `orchestrator ${start}`);
  const lane = new Lane({ name: 'relay', places: limits.max_relayed_tasks, depth: queue.max_waiting });
  const parts = new Lane({ name: 'parts', places: Number.POSITIVE_INFINITY, depth: queue.max_waiting });
  const scheduler = createScheduler({ clock, log: silentLog, ageingMs: queue.ageing_s * 1000 });
  const peers = createPeerRegistry({
    ledger: store.ledger,
    configured: Object.fromEntries([...workers.keys()].map((name) => [name, { url: urlOf(name) }])),
    clock,
    log: silentLog,
    self: ORCHESTRATOR,
    random: random.next,
  });
  peers.onChange(() => scheduler.changed());
  const relay = createRelay({
    ...relaySettings(config, ORCHESTRATOR, VERSIONS),
    peers,
    client: relayClient(world, { name: ORCHESTRATOR, process }, workers),
    clock,
    log: silentLog,
    metrics: createMetrics({ profile: ORCHESTRATOR, peers: [], callers: [], defaultMetrics: false }),
    random: random.next,
    scheduler,
    lane,
    parts,
    repositoryTokenOf: () => '',
    homeOf: ({ contextId }) => store.homes.get(contextId),
    conversationOf: ({ contextId }) => contextId,
    onGivenUp: (id) => void store.givenUp.add(id),
  });
  const self = createSelfAnnounce({
    instanceId: instanceId(clock.now(), random),
    versions: VERSIONS,
    snapshot: () => ({
      profile: ORCHESTRATOR,
      config,
      model: { id: 'simulated', tier: 'opus', contextWindow: 200_000 },
      tools: [],
      mcpHealth: {},
      repoState: { branch: 'main', clean: true },
      activeTasks: 0,
      queuedTasks: 0,
      freeSlots: 0,
      sessionFresh: false,
      ready: true,
      now: clock.now(),
    }),
  });

  function enqueue(task: OpenTask, hasBegun: boolean): void {
    const { id, caller, contextId, dispatch } = task.spec;
    const priority = dispatch.task.priority ?? 'normal';
    const info = { taskId: id, contextId, caller, priority, receivedAt: task.receivedAt };
    const ticket = scheduler.add(lane, info, 'submitted', hasBegun);
    ticket.enterContext(() => {
      task.hasBegun = true;
      void process.alive(relay.run(admitted(task), contextOf(task))).then((outcome) => {
        options.onEnd(task, outcome);
        ticket.end();
      });
    });
  }

  /** The context of a run, whose checkpoint and tokens are durable at once while the process is alive. */
  function contextOf(task: OpenTask): RunContext {
    const { id, dispatch } = task.spec;
    return {
      signal: new AbortController().signal,
      stopping: new AbortController().signal,
      budget: createBudget({
        taskId: id,
        limit: dispatch.task.tokenBudget,
        store: store.tokensOf(task),
        model: 'relay',
      }),
      reportEvent: () => process.alive(Promise.resolve()),
      park: (wait) => wait(),
      ask: () => Promise.reject(new Error('no task asks in a simulation')),
      checkpoint: {
        load: () => task.checkpoint,
        save(state) {
          if (process.isAlive) task.checkpoint = state;
          return process.alive(Promise.resolve());
        },
      },
    };
  }

  for (const task of store.open.values()) enqueue(task, task.hasBegun);

  return {
    peers,
    lane,
    submit(spec) {
      if (!lane.reserve(spec.caller)) return false;
      const task = store.accept(spec, clock.now());
      invariants.accepted(spec.id, spec.dispatch.task.tokenBudget ?? Number.POSITIVE_INFINITY);
      lane.release(spec.caller);
      enqueue(task, false);
      return true;
    },
    async announce(data, from) {
      await peers.record(decodeAnnounce(data), { name: from, scopes: ANNOUNCES });
      return [encodeAnnounce(self.now())];
    },
    lost: () => [...store.open.keys()].filter((id) => scheduler.ticketOf(id) === undefined),
  };
}

const ANNOUNCES: ReadonlySet<string> = new Set(['announce', 'dispatch']);

const admitted = ({ spec, resumes }: OpenTask): AdmittedTask => ({
  id: spec.id,
  contextId: spec.contextId,
  caller: { name: spec.caller, scopes: new Set(['dispatch']) },
  dispatch: spec.dispatch,
  parts: [],
  deadlineAt: undefined,
  resumes,
});
