import { ORCHESTRATOR } from '../fleet/settings.ts';
import type { EventLoop } from '../world/event-loop.ts';
import type { Conditions } from '../world/network.ts';
import type { Fault } from './plan.ts';

/** A worker that faults can hit. Faults of one kind may overlap. */
export interface Victim {
  readonly name: string;
  /** The crashes, breaks and slowdowns in force. */
  readonly down: { count: number };
  readonly broken: { count: number };
  readonly slow: number[];
  /** Is called when the worker has stored a task, before it answers. */
  atAcceptance: (() => void) | undefined;
  kill(): void;
  start(): void;
}

export interface Targets {
  readonly workers: readonly Victim[];
  readonly orchestrator: Pick<Victim, 'down' | 'kill' | 'start'>;
  readonly conditions: Conditions;
}

/** Schedules the beginning and the end of each fault. */
export function injectFaults(loop: EventLoop, faults: readonly Fault[], targets: Targets): void {
  for (const fault of faults)
    loop.at(fault.at, () => {
      const end = begin(fault, targets);
      loop.after(fault.forMs, end);
    });
}

/** Begins a fault, and returns its end. */
function begin(fault: Fault, { workers, orchestrator, conditions }: Targets): () => void {
  switch (fault.kind) {
    case 'orchestrator crash':
      return crash(orchestrator);
    case 'loss':
      conditions.loss += fault.share;
      return () => {
        conditions.loss = Math.max(0, conditions.loss - fault.share);
      };
    case 'duplication':
      conditions.duplication += fault.share;
      return () => {
        conditions.duplication = Math.max(0, conditions.duplication - fault.share);
      };
    case 'delay':
      conditions.delayMs += fault.ms;
      return () => {
        conditions.delayMs -= fault.ms;
      };
    default: {
      const victim = workers[fault.worker];
      if (!victim) return () => undefined;
      if (fault.kind === 'crash') return crash(victim);
      if (fault.kind === 'crash at acceptance') return crashAtAcceptance(victim);
      if (fault.kind === 'partition') return partition(victim.name, fault.direction, conditions);
      if (fault.kind === 'slow') {
        victim.slow.push(fault.factor);
        return () => void victim.slow.splice(victim.slow.indexOf(fault.factor), 1);
      }
      victim.broken.count += 1;
      return () => {
        victim.broken.count -= 1;
      };
    }
  }
}

function crash({ down, kill, start }: Pick<Victim, 'down' | 'kill' | 'start'>): () => void {
  down.count += 1;
  if (down.count === 1) kill();
  return () => {
    down.count -= 1;
    if (down.count === 0) start();
  };
}

/** The worker dies when it next accepts a task, if it does so in the time of the fault. */
function crashAtAcceptance(victim: Victim): () => void {
  let restart: (() => void) | undefined;
  const die = (): void => {
    victim.atAcceptance = undefined;
    restart = crash(victim);
  };
  victim.atAcceptance = die;
  return () => {
    if (victim.atAcceptance === die) victim.atAcceptance = undefined;
    restart?.();
  };
}

function partition(name: string, direction: 'to' | 'from' | 'both', { cut }: Conditions): () => void {
  const links: string[] = [];
  if (direction !== 'from') links.push(`${ORCHESTRATOR}>${name}`);
  if (direction !== 'to') links.push(`${name}>${ORCHESTRATOR}`);
  const change = (by: number): void => {
    for (const link of links) {
      const count = (cut.get(link) ?? 0) + by;
      if (count > 0) cut.set(link, count);
      else cut.delete(link);
    }
  };
  change(1);
  return () => change(-1);
}
