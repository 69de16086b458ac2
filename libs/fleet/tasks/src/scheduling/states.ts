import type { SchedulingState } from '@hermes-fleet/protocol';

/** The states that may follow each state. */
export const TRANSITIONS: Readonly<Record<SchedulingState, readonly SchedulingState[]>> = {
  submitted: ['queued', 'ended'],
  waiting: ['queued', 'submitted', 'ended'],
  queued: ['waiting', 'submitted', 'placed', 'running', 'asking', 'ended'],
  placed: ['running', 'submitted', 'ended'],
  running: ['asking', 'submitted', 'ended'],
  asking: ['queued', 'running', 'ended'],
  ended: [],
};
