/** The states of a task between its acceptance and its end (docs/handshake.md#scheduling). */
export type SchedulingState = 'submitted' | 'waiting' | 'queued' | 'placed' | 'running' | 'asking' | 'ended';

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
