import { createInvariants, type Violation } from './checks/invariants.ts';
import { injectFaults } from './faults/inject.ts';
import { type Fault, LONGEST_MS, planFaults } from './faults/plan.ts';
import { createSimFleet } from './fleet/fleet.ts';
import { orchestratorConfig, workerConfig } from './fleet/settings.ts';
import type { AnnounceTraffic, Defect, World } from './fleet/world.ts';
import { createFigures, type Figures } from './load/figures.ts';
import { type LoadSettings, meanGapMs, type TaskSpec, workload } from './load/workload.ts';
import { createEventLoop } from './world/event-loop.ts';
import { createNetwork } from './world/network.ts';
import { randomOf } from './world/random.ts';

export interface SimSettings extends LoadSettings {
  /** The number of faults of the seed's plan. */
  readonly faults: number;
  /** The faults that happen, by their index in the plan; all if absent. */
  readonly only?: readonly number[] | undefined;
  readonly defect?: Defect | undefined;
}

export interface SimResult {
  readonly settings: SimSettings;
  readonly faults: readonly Fault[];
  readonly violation: Violation | undefined;
  readonly counts: { readonly accepted: number; readonly ended: number; readonly done: number };
  readonly figures: Figures;
  readonly announces: AnnounceTraffic;
  readonly messages: { readonly sent: number; readonly lost: number; readonly duplicated: number };
  readonly givenUp: number;
  /** Virtual time at the end, ms. */
  readonly endedAt: number;
  readonly events: number;
}

/** Workers announce themselves before the first task. */
const WARM_UP_MS = 5_000;
/** After the last fault some task must end, or be at work, in every span of this length, while any is open. */
const PATIENCE_MS = 300_000;
/** The tickets of all open tasks are looked at after so much virtual time. */
const AUDIT_MS = 1_000;

/**
 * Runs one simulation to its end, or to the first violation. The same settings give the same result. `onStarted` is called
 * when all workers are up and known, before the first task.
 */
export async function simulate(settings: SimSettings, onStarted?: () => void): Promise<SimResult> {
  const { seed, workers, slots } = settings;
  const loop = createEventLoop();
  const network = createNetwork(loop, randomOf(seed, 'network'));
  const invariants = createInvariants(() => loop.now);
  const figures = createFigures(workers * slots);
  const specs = new Map<string, TaskSpec>();
  const announces = { sent: 0, answered: 0, bytes: 0, answerBytes: 0 };
  let workUntil = 0;
  const world: World = {
    seed,
    loop,
    network,
    invariants,
    workerConfig: workerConfig(slots),
    orchestratorConfig: orchestratorConfig(workers * slots),
    defect: settings.defect,
    announces,
    specOf: (id) => specs.get(id),
    onBegin: (spec) => figures.began(spec, loop.now),
    onStep(endsAt) {
      workUntil = Math.max(workUntil, endsAt);
    },
  };
  let lastEndAt = 0;
  const fleet = createSimFleet(world, settings, (spec, status) => {
    lastEndAt = loop.now;
    figures.ended(spec, status, loop.now);
    // A copy of a message that is under way may still ask for it.
    loop.after(LONGEST_MS, () => void specs.delete(spec.id));
  });
  const horizon = WARM_UP_MS + settings.tasks * meanGapMs(settings);
  const planned = planFaults(seed, settings.faults, horizon, workers);
  const faults = settings.only ? planned.filter(({ index }) => settings.only?.includes(index)) : planned;
  injectFaults(loop, faults, { ...fleet.targets, conditions: network.conditions });
  const calmAt = Math.max(0, ...faults.map(({ at, forMs }) => at + forMs));

  let left = settings.tasks;
  const coming = workload(settings);
  function nextArrival(): void {
    const next = coming.next();
    if (next.done) return;
    const spec = { ...next.value, arrivesAt: WARM_UP_MS + next.value.arrivesAt };
    loop.at(spec.arrivesAt, () => {
      left -= 1;
      specs.set(spec.id, spec);
      figures.arrived(spec);
      fleet.submit(spec);
      nextArrival();
    });
  }
  nextArrival();
  fleet.start();
  if (onStarted) loop.at(WARM_UP_MS, onStarted);

  let auditedAt = 0;
  function audit(): void {
    if (loop.now < auditedAt + AUDIT_MS) return;
    auditedAt = loop.now;
    figures.sample(fleet.waiting());
    const [lost] = fleet.lost();
    if (lost !== undefined)
      invariants.fail('no task lost', `${lost} is open, and the scheduler does not have it`);
    const since = Math.max(calmAt, lastEndAt, workUntil, WARM_UP_MS);
    if (fleet.open() > 0 && loop.now - since > PATIENCE_MS)
      invariants.fail(
        'progress',
        `${fleet.open()} tasks are open, and none has ended for ${PATIENCE_MS / 1000} s`,
      );
  }
  await loop.run(() => {
    invariants.instant(fleet.accepted());
    audit();
    return invariants.violation !== undefined || (left === 0 && fleet.open() === 0 && loop.now >= calmAt);
  });
  return {
    settings,
    faults,
    violation: invariants.violation,
    counts: invariants.counts,
    figures,
    announces,
    messages: network.counts,
    givenUp: fleet.givenUp(),
    endedAt: loop.now,
    events: loop.events,
  };
}
