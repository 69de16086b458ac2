import type { FollowingEvent, Ledger, NewTask } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { Reading, TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { type AdmittedTask, type Caller, contentParts, type Log } from '@hermes-fleet/protocol/ports';
import type { Decision } from '../running/count-decision.ts';
import { recordFields, rootCallerIn } from '../running/lineage.ts';
import { acceptanceOf } from '../running/persist.ts';
import { blockedEnding, type Ending, errorEnding } from '../running/task-result.ts';
import { endedOutsideRun, endingEvent } from '../running/write-ending.ts';
import { type Destination, judge, type Verdict } from './judge.ts';
import type { Accepted } from './shared-acceptances.ts';

export interface AcceptNewOptions {
  readonly profile: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly ledger: Pick<Ledger, 'accept'>;
  readonly log: Log;
  readonly destinationOf: (dispatch: TaskDispatch) => Destination;
  /** The tier of the model that would have run a task that ends unadmitted. */
  readonly tier: () => string;
  readonly closing: AbortSignal;
}

/** A task to accept, as its caller has sent it. */
export interface Arrival {
  readonly task: NewTask;
  readonly reading: Reading;
  readonly caller: Caller;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/**
 * Judges a new task, and stores it with the outcome in one transaction: queued, blocked, or ended by an admission that
 * failed. An admitted task enters its queue in the turn of that write, so that its start shares the commit. If it is not
 * stored, all that was reserved for it is free again, and the error of the ledger is thrown.
 */
export async function acceptNew(options: AcceptNewOptions, arrival: Arrival): Promise<Accepted> {
  const { ledger, log, profile } = options;
  const { task, reading, caller } = arrival;
  let verdict: Verdict;
  try {
    verdict = await judge(options, { id: task.id, key: task.key, reading, caller });
  } catch (error) {
    return acceptFailed(options, task, error);
  }
  if (verdict.kind === 'admitted') return acceptAdmitted(options, arrival, verdict);
  const { name, unmet, saved } = verdict;
  const ending = blockedEnding(name, unmet, profile);
  const accepted = await ledger.accept(task, [
    endOf(options, task, ending, { kind: 'blocked', unmet, saved }),
  ]);
  if (accepted.created) {
    const fields = recordFields(task);
    log.info(fields, 'task accepted');
    log.info(
      { ...fields, unmet: unmet.map(({ kind }) => kind) },
      `task blocked: ${ending.result.blockedReason}`,
    );
  }
  return accepted;
}

async function acceptAdmitted(
  { ledger, log }: AcceptNewOptions,
  { task, caller, receivedAt }: Arrival,
  { dispatch, destination }: Extract<Verdict, { kind: 'admitted' }>,
): Promise<Accepted> {
  const { queue, releaseTokens } = destination;
  const data = { lane: queue.name, priority: dispatch.task.priority ?? 'normal' };
  const written = ledger.accept(task, [{ event: { type: 'queued', data }, change: { state: 'queued' } }]);
  const acceptance = acceptanceOf(written);
  queue.release(caller.name);
  queue.addNew(admittedTask(task, dispatch, caller), receivedAt, acceptance);
  if (await acceptance.decided) log.info(recordFields(task), 'task accepted');
  else {
    queue.withdraw(task.id);
    releaseTokens(task.id);
  }
  return await written;
}

/**
 * Ends a task whose admission failed. The caller gets the task, not the error: it would take an error for a refusal, and
 * run the task elsewhere.
 */
async function acceptFailed(options: AcceptNewOptions, task: NewTask, error: unknown): Promise<Accepted> {
  const { ledger, log, profile, closing } = options;
  log.error({ ...recordFields(task), err: error }, 'admission failed');
  closing.throwIfAborted();
  const ending = errorEnding(task.key, profile, FleetError.from(error));
  return ledger.accept(task, [endOf(options, task, ending)]);
}

const endOf = (
  { versions, tier }: AcceptNewOptions,
  task: NewTask,
  ending: Ending,
  decision?: Decision,
): FollowingEvent => endingEvent(endedOutsideRun(task, { tier: tier(), decision }), ending, versions);

/** A task that passed admission, for its run. A task that no process has run before has no resumes. */
export function admittedTask(
  record: Pick<NewTask, 'id' | 'contextId' | 'traceparent' | 'message' | 'lineage'> & {
    readonly resumes?: number;
  },
  dispatch: TaskDispatch,
  caller: Caller,
): AdmittedTask {
  const deadlineAt = dispatch.deadline === undefined ? undefined : Date.parse(dispatch.deadline);
  return {
    id: record.id,
    contextId: record.contextId,
    caller,
    dispatch,
    parts: contentParts(record.message),
    deadlineAt,
    resumes: record.resumes ?? 0,
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
    ...rootCallerIn(record.lineage),
  };
}
