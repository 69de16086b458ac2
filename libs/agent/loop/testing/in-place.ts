import { FleetError } from '@hermes-fleet/protocol';
import type { Agent } from '../src/agent.ts';
import { block, makeContext, makeTask, type TestRun } from './harness.ts';

/** A brief with one shell block per line. */
export const sh = (...lines: string[]): string => lines.map((line) => block('sh', line)).join('\n');

export const STOPPED = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');

export interface RunOptions {
  readonly contextId?: string;
  readonly write?: boolean;
  readonly context?: TestRun;
}

export function runBrief(
  agent: Agent,
  brief: string,
  { contextId = 'one', write, context = makeContext() }: RunOptions = {},
) {
  const task = write === undefined ? {} : { write };
  return agent.executor.run(makeTask(brief, { contextId, task }), context);
}
