import type { PeerTask } from '@hermes-fleet/a2a';
import type { Announcer } from '@hermes-fleet/peers';
import {
  dispatchFingerprint,
  FleetError,
  HANDSHAKE_EXTENSION,
  type JsonObject,
  PROTOCOL_VERSION,
} from '@hermes-fleet/protocol';
import {
  encodeResult,
  type Reading,
  readDispatch,
  type TaskDispatch,
  type TaskResult,
  type Unmet,
} from '@hermes-fleet/protocol/handshake';
import { type Caller, silentLog } from '@hermes-fleet/protocol/ports';
import {
  type AdmissionInputs,
  admit,
  createScheduler,
  createSharedAcceptances,
  judge,
  Lane,
} from '@hermes-fleet/tasks';
import type { Endpoint, Stream } from '../world/network.ts';
import type { Process } from '../world/process.ts';
import { execute } from './execute.ts';
import { ORCHESTRATOR, VERSIONS } from './settings.ts';
import { announceSelf, type WorkerAnnounce } from './worker-announce.ts';
import { hasEnded, type StoredTask, type WorkerStore } from './worker-store.ts';
import type { World } from './world.ts';

/** What a worker is, for all of its processes. */
export interface WorkerTraits {
  readonly name: string;
  readonly tier: string;
  readonly servers: readonly string[];
  readonly slots: number;
}

/** One process of a worker: the real admission, queue and announcer around simulated work. */
export interface Worker {
  readonly announcer: Announcer;
  accept(data: JsonObject, contextId: string): Promise<PeerTask>;
  get(id: string): PeerTask;
  cancel(id: string): PeerTask;
  watch(id: string, stream: Stream<PeerTask>): Disposable;
}

export interface WorkerOptions {
  readonly world: World;
  readonly traits: WorkerTraits;
  readonly store: WorkerStore;
  readonly process: Process;
  readonly orchestrator: Endpoint & { announce(data: JsonObject, from: string): Promise<JsonObject[]> };
  readonly self: Endpoint;
  /** Counts the starts of the worker, from 1. */
  readonly start: number;
  readonly slowness: () => number;
  readonly isBroken: () => boolean;
  /** Is called when a task is stored, before the answer. */
  readonly onAcceptance: () => void;
}

const CALLER: Caller = { name: ORCHESTRATOR, scopes: new Set(['dispatch', 'announce']) };
const QUEUE_DEPTH = 100;

type Accepted = ReturnType<WorkerStore['accept']>;
type Arriving = Pick<StoredTask, 'id' | 'key' | 'fingerprint'> & { readonly acceptUntil: number | undefined };

export function createWorker(options: WorkerOptions): Worker {
  const { world, traits, store, process } = options;
  const { invariants } = world;
  const { clock } = process;
  const { name, slots } = traits;
  const { queue } = world.workerConfig.fleet;
  const scheduler = createScheduler({ clock, log: silentLog, ageingMs: queue.ageing_s * 1000 });
  const places = world.defect === 'overfill' ? slots + 1 : slots;
  const lane = new Lane({ name: 'own', places, depth: QUEUE_DEPTH });
  const acceptances = createSharedAcceptances<StoredTask>(store, clock);
  const watchers = new Map<string, Set<Stream<PeerTask>>>();
  const underWay = new Map<string, number>();
  const load: WorkerAnnounce = announceSelf(options, lane, scheduler);
  lane.onChange(load.changed);

  process.onKill(() => {
    for (const [key, estimate] of underWay) invariants.spent(key, estimate);
    for (const task of store.tasks.values())
      if (task.state === 'working') invariants.stopped(name, task.key, 'killed');
  });

  const queueOf = {
    get running() {
      return lane.running;
    },
    get waiting() {
      return lane.waiting;
    },
    get freeSlots() {
      return scheduler.freePlacesOf(lane);
    },
    reserve: (caller: string) => lane.reserve(caller),
  };
  const inputs = (): AdmissionInputs => ({
    self: name,
    versions: VERSIONS,
    now: clock.now(),
    model: { id: 'simulated', tier: traits.tier, contextWindow: 200_000 },
    tiers: world.workerConfig.fleet.tiers,
    capabilities: [],
    mcp: { names: () => [...traits.servers], probe: async () => ({ state: 'ok', detail: '' }) },
    modelWatch: undefined,
    repoState: async () => ({ branch: 'main', clean: true }),
    countTokens: async (text) => text.length,
    minimumBudget: 200,
    queue: { full: lane.isFullFor(ORCHESTRATOR), waiting: lane.waiting },
    shortage: () => undefined,
    ceilings: () => [],
  });
  const bar = {
    queue: queueOf,
    check: (dispatch: TaskDispatch, caller: Caller) => admit({ dispatch, caller, inputs: inputs() }),
    reserveTokens: () => [],
    releaseTokens: () => undefined,
  };

  function move(task: StoredTask, state: StoredTask['state'], result?: TaskResult): void {
    task.state = state;
    task.stateAt = clock.now();
    if (result) task.result = encodeResult({ ...result, executedBy: name });
    const snapshot = viewOf(task);
    for (const stream of watchers.get(task.key) ?? []) stream.push(snapshot);
  }

  /** Puts a stored task into the queue, and runs it in its turn. */
  function enqueue(task: StoredTask, hasBegun: boolean): void {
    const { key, contextId, dispatch, receivedAt } = task;
    const info = {
      taskId: key,
      contextId,
      caller: ORCHESTRATOR,
      priority: dispatch.task.priority ?? 'normal',
      receivedAt,
    };
    const ticket = scheduler.add(lane, info, 'submitted', hasBegun);
    ticket.queue({
      needs: () => ({ key: 'own' }),
      reserve: () => ({ [Symbol.dispose]: () => undefined }),
      to: 'running',
      // It may have been killed in the turn of the event loop in which the task came.
      begin: () => process.isAlive && void run(task).then(() => ticket.end()),
    });
  }

  async function run(task: StoredTask): Promise<void> {
    const spec = world.specOf(task.key);
    if (!spec) return invariants.fail('no task lost', `${name} begins ${task.key}, which nobody sent`);
    invariants.began(name, task.key, slots);
    world.onBegin(spec);
    move(task, 'working');
    const { slowness, isBroken } = options;
    const work = execute(
      { world, process, store, model: 'simulated', slowness, isBroken, underWay },
      task,
      spec,
    );
    const result = await process.alive(work);
    invariants.stopped(name, task.key, result.status === 'error' ? 'failed' : 'done');
    move(task, result.status === 'error' ? 'failed' : 'completed', result);
  }

  function viewOf(task: StoredTask): PeerTask {
    const { key, contextId, state, stateAt, result, metadata } = task;
    const data = result ? [result] : [];
    const rest = { text: '', statusText: '', artifacts: [], metadata };
    return {
      id: `${name}/${key}`,
      contextId,
      state,
      terminal: hasEnded(task),
      statusAt: stateAt,
      data,
      ...rest,
    };
  }

  /** Judges a new task, and stores it with the outcome, as the real one does. */
  async function acceptNew(
    { id, key, fingerprint, acceptUntil }: Arriving,
    reading: Extract<Reading, { kind: 'dispatch' }>,
    contextId: string,
  ): Promise<Accepted> {
    const { dispatch } = reading;
    const verdict = await judge(
      { profile: name, destinationOf: () => bar },
      { id: key, key, reading, caller: CALLER },
    );
    const now = clock.now();
    const isAdmitted = verdict.kind === 'admitted';
    const fresh: StoredTask = {
      id,
      key,
      fingerprint,
      contextId,
      dispatch,
      receivedAt: now,
      state: isAdmitted ? 'submitted' : 'rejected',
      stateAt: now,
      step: 0,
      tokens: [],
      result: isAdmitted ? undefined : encodeResult(refusal(key, verdict.unmet)),
      metadata: isAdmitted ? {} : { [HANDSHAKE_EXTENSION]: load.wire() },
    };
    if (world.defect === 'repeat') store.tasks.delete(key);
    let accepted: Accepted;
    try {
      accepted = store.accept(fresh, acceptUntil);
    } finally {
      if (isAdmitted) lane.release(ORCHESTRATOR);
    }
    if (!accepted.created || !isAdmitted) return accepted;
    invariants.taken(name, key);
    enqueue(fresh, false);
    options.onAcceptance();
    if (world.defect === 'forget' && (world.specOf(key)?.index ?? 0) % 11 === 7) store.tasks.delete(key);
    return accepted;
  }

  function known(id: string): StoredTask {
    const task = store.tasks.get(id.slice(name.length + 1));
    if (task) return task;
    invariants.unknown(name, id.slice(name.length + 1));
    throw new FleetError('TASK_NOT_FOUND', `${name} has no task ${id}`);
  }

  const resumed = [...store.tasks.values()].filter((task) => !hasEnded(task));
  invariants.restored(name, new Set(resumed.map(({ key }) => key)));
  for (const task of resumed) enqueue(task, task.state === 'working');

  return {
    announcer: load.announcer,
    async accept(data, contextId) {
      const reading = readDispatch(data, VERSIONS);
      if (reading.kind === 'foreign') throw new FleetError('VERSION_NOT_SUPPORTED', 'a foreign version');
      const until = reading.dispatch.routing?.acceptUntil;
      const arriving = {
        id: `${name}/${reading.taskId}`,
        caller: ORCHESTRATOR,
        key: reading.taskId,
        fingerprint: dispatchFingerprint(data),
        acceptUntil: until === undefined ? undefined : Date.parse(until),
      };
      const accept = (): Promise<Accepted> => acceptNew(arriving, reading, contextId);
      const shares = world.defect !== 'repeat';
      return viewOf((await (shares ? acceptances.share(arriving, accept) : accept())).task);
    },
    get: (id) => viewOf(known(id)),
    cancel: (id) => viewOf(known(id)),
    watch(id, stream) {
      const task = known(id);
      stream.push(viewOf(task));
      const set = watchers.get(task.key) ?? new Set();
      watchers.set(task.key, set.add(stream));
      return {
        [Symbol.dispose]() {
          set.delete(stream);
          if (set.size === 0) watchers.delete(task.key);
        },
      };
    },
  };
}

const refusal = (taskId: string, unmet: readonly Unmet[]): TaskResult => ({
  type: 'TASK_RESULT',
  protocolVersion: PROTOCOL_VERSION,
  taskId,
  status: 'blocked',
  tokensSpent: 0,
  nextSteps: [],
  blockedReason: unmet.map(({ detail }) => detail).join('; ') || 'refused',
  artifacts: { filesChanged: [] },
  unmet: [...unmet],
});
