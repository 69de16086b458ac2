import type { Targets, Victim } from '../faults/inject.ts';
import { LONGEST_MS } from '../faults/plan.ts';
import { type LoadSettings, type TaskSpec, TIERS } from '../load/workload.ts';
import { createProcess, type Process } from '../world/process.ts';
import { randomOf } from '../world/random.ts';
import type { Announced } from './announce-client.ts';
import { createOrchestrator, type Orchestrator } from './orchestrator.ts';
import { createOrchestratorStore } from './orchestrator-store.ts';
import type { WorkerEndpoint } from './relay-client.ts';
import { ORCHESTRATOR } from './settings.ts';
import { createWorker, type Worker, type WorkerTraits } from './worker.ts';
import { createWorkerStore } from './worker-store.ts';
import type { World } from './world.ts';

/** One orchestrator and its workers, all of which may crash and start again. */
export interface SimFleet {
  readonly targets: Omit<Targets, 'conditions'>;
  start(): void;
  /** A caller sends a task, and sends it again until it is accepted. */
  submit(spec: TaskSpec): void;
  /** Tasks that have not ended, accepted or not. */
  open(): number;
  accepted(): number;
  waiting(): number;
  lost(): string[];
  givenUp(): number;
}

/** The pause before a caller sends a task again that was not accepted, ms. */
const RESEND_MS = 1_000;
/** Workers start within this time. */
const SPREAD_MS = 2_000;

interface SimWorker extends Victim, WorkerEndpoint {
  /** Forgets a task that has ended everywhere. */
  forget(task: string): void;
}

export function createSimFleet(
  world: World,
  settings: LoadSettings,
  onEnd: (spec: TaskSpec, status: string) => void,
): SimFleet {
  const { loop, invariants } = world;
  const store = createOrchestratorStore();
  const unsent = new Set<string>();
  const workers = new Map<string, SimWorker>();
  let process: Process | undefined;
  let orchestrator: Orchestrator | undefined;
  let starts = 0;
  const own: Announced = {
    name: ORCHESTRATOR,
    get process() {
      return process;
    },
    announce: (data, from) => orchestrator?.announce(data, from) ?? Promise.reject(new Error('not up')),
  };
  for (let i = 0; i < settings.workers; i += 1) {
    const traits = traitsOf(i, settings);
    workers.set(traits.name, createSimWorker(world, traits, own));
  }

  function start(): void {
    starts += 1;
    process = createProcess(loop);
    orchestrator = createOrchestrator({
      world,
      process,
      store,
      workers,
      start: starts,
      onEnd({ spec, tokens }, { status, executedBy = '' }) {
        store.open.delete(spec.id);
        store.homes.set(spec.contextId, executedBy);
        const isKnown = !store.givenUp.has(spec.id);
        const booked = tokens.reduce(
          (sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens,
          0,
        );
        invariants.ended(spec.id, status, isKnown ? booked : undefined);
        onEnd(spec, status);
        if (isKnown) loop.after(LONGEST_MS, () => workers.get(executedBy)?.forget(spec.id));
      },
    });
  }

  function kill(): void {
    process?.kill();
    process = undefined;
    orchestrator = undefined;
  }

  function submit(spec: TaskSpec): void {
    if (orchestrator?.submit(spec)) {
      unsent.delete(spec.id);
      return;
    }
    unsent.add(spec.id);
    loop.after(RESEND_MS, () => submit(spec));
  }

  return {
    targets: { workers: [...workers.values()], orchestrator: { down: { count: 0 }, kill, start } },
    start() {
      start();
      const random = randomOf(world.seed, 'start');
      for (const worker of workers.values())
        loop.at(random.below(SPREAD_MS), () => {
          if (worker.down.count === 0) worker.start();
        });
    },
    submit,
    open: () => store.open.size + unsent.size,
    accepted: () => store.open.size,
    waiting: () => (orchestrator?.lane.waiting ?? 0) + unsent.size,
    lost: () => orchestrator?.lost() ?? [],
    givenUp: () => store.givenUp.size,
  };
}

/** A worker for all of its processes: what survives a crash, and the faults in force. */
function createSimWorker(world: World, traits: WorkerTraits, orchestrator: Announced): SimWorker {
  const store = createWorkerStore();
  const down = { count: 0 };
  const broken = { count: 0 };
  const slow: number[] = [];
  let process: Process | undefined;
  let worker: Worker | undefined;
  let starts = 0;
  const self: SimWorker = {
    name: traits.name,
    down,
    broken,
    slow,
    atAcceptance: undefined,
    get process() {
      return process;
    },
    get worker() {
      return worker;
    },
    start() {
      if (process) return;
      starts += 1;
      process = createProcess(world.loop);
      worker = createWorker({
        world,
        traits,
        store,
        process,
        orchestrator,
        self,
        start: starts,
        slowness: () => slow.reduce((all, factor) => all * factor, 1),
        isBroken: () => broken.count > 0,
        onAcceptance: () => self.atAcceptance?.(),
      });
      worker.announcer.start();
    },
    kill() {
      process?.kill();
      process = undefined;
      worker = undefined;
    },
    forget: (task) => void store.tasks.delete(task),
  };
  return self;
}

/** A third of the workers are of each tier, and two of three have the MCP server. */
function traitsOf(index: number, { slots }: LoadSettings): WorkerTraits {
  return {
    name: `worker-${index}`,
    tier: TIERS[index % TIERS.length] ?? 'sonnet',
    servers: index % 3 === 1 ? [] : ['search'],
    slots,
  };
}
