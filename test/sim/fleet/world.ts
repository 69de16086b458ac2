import type { FleetConfig } from '@hermes-fleet/fleet-config';
import type { Invariants } from '../checks/invariants.ts';
import type { TaskSpec } from '../load/workload.ts';
import type { EventLoop } from '../world/event-loop.ts';
import type { Network } from '../world/network.ts';

/** A defect that a simulation plants into its workers, or into the orchestrator's client, to show that the invariants find it. */
export const DEFECTS = [
  'forget',
  'repeat',
  'overspend',
  'underreport',
  'overfill',
  'hang',
  'lost-copy',
] as const;
export type Defect = (typeof DEFECTS)[number];

/** Messages and bytes of announces. */
export interface AnnounceTraffic {
  sent: number;
  answered: number;
  bytes: number;
  answerBytes: number;
}

/** What all simulated profiles share. */
export interface World {
  readonly seed: number;
  readonly loop: EventLoop;
  readonly network: Network;
  readonly invariants: Invariants;
  readonly workerConfig: FleetConfig;
  readonly orchestratorConfig: FleetConfig;
  readonly defect: Defect | undefined;
  readonly announces: AnnounceTraffic;
  /** What a task takes, which only its work shows. */
  specOf(task: string): TaskSpec | undefined;
  /** A task has begun for the first time, after this wait. */
  onBegin(spec: TaskSpec): void;
  /** A step of a task's work has begun, which ends at this virtual time, ms, unless its worker is killed. */
  onStep(endsAt: number): void;
}
