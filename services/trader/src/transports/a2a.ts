import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isTerminal, type Ledger, type TaskRecord } from '@hermes-fleet/ledger';
import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import {
  type Accepted,
  type Caller,
  type Clock,
  type Ids,
  type InboundMessage,
  type Intake,
  type Log,
  type TaskFields,
  traceField,
} from '@hermes-fleet/protocol/ports';
import { requireScope } from '@hermes-fleet/service';
import { DECIDE } from '../control/access.ts';
import type { Attempt, DecisionService } from '../control/decision-service.ts';
import { duplicateAnswer } from '../control/judge.ts';
import { brokenEnding, type ControlEnding, endingOf, responseIn } from './control-ending.ts';
import { auditedText, CONTROL_DECISION, controlParts, payloadText, wrongPart } from './control-part.ts';
import { codeOf } from './refusals.ts';

export interface ControlIntakeOptions {
  readonly decisions: DecisionService;
  readonly ledger: Pick<Ledger, 'accept' | 'append' | 'get' | 'unfinished'>;
  /** Receives all other messages. */
  readonly gateway: Intake;
  /** Returns a caller with its current scopes, for tasks that outlived a restart. */
  readonly callerNamed: (name: string) => Caller;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** The A2A transport: a CONTROL_DECISION becomes a task, and other messages go to the gateway (docs/trader.md#transports). */
export interface ControlIntake extends Intake {
  /**
   * Decides again the unfinished tasks of an earlier process; idempotent by `decision_id`. Called before the gateway's
   * `recover`, which does not know such tasks. Rejects if the ledger is not writable or this is closed.
   */
  recover(): Promise<void>;
  /** Refuses new decisions and waits for those in progress. Results that cannot be written are left to the next start. */
  close(): Promise<void>;
}

/** Longest wait of a start for the rate limit, which restarts empty and may delay decisions that were admitted before. */
const RECOVER_MS = 30_000;
const PAUSE = { firstMs: 100, longestMs: 5_000, random: Math.random };

/** The fields of a log line about a decision's task. A decision is the first task of its chain. */
function fieldsOf(task: TaskRecord): TaskFields & { readonly context_id: string; readonly caller: string } {
  const { id, key, contextId, caller } = task;
  return { task_id: id, dispatch_id: key, root_id: key, context_id: contextId, caller, ...traceField(task) };
}

export function createControlIntake(options: ControlIntakeOptions): ControlIntake {
  const { decisions, ledger, gateway, clock, log } = options;
  const closing = new AbortController();
  const underWay = new Map<string, Promise<void>>();

  async function accept(message: InboundMessage, caller: Caller): Promise<Accepted> {
    const parts = controlParts(message);
    const [part] = parts;
    if (part === undefined) return gateway.accept(message, caller);
    try {
      closing.signal.throwIfAborted();
      requireScope(caller, DECIDE);
      if (message.data.length > 1)
        throw wrongPart('must be the only data part of its message; send a message for each');
      if (message.taskId !== undefined) throw wrongPart('always creates a task; send it without a task id');
      return await acceptDecision(payloadText(part), message, caller);
    } catch (thrown) {
      const error = FleetError.from(thrown);
      for (const text of parts.map(auditedText)) {
        const { traceparent } = message;
        await decisions.refuse(attemptOf({ text, caller, traceparent }), codeOf(error), error.message);
      }
      throw thrown;
    }
  }

  async function acceptDecision(text: string, message: InboundMessage, caller: Caller): Promise<Accepted> {
    const { messageId, traceparent } = message;
    const accepted = ledger.accept({
      id: options.ids.uuid(),
      contextId: message.contextId ?? options.ids.uuid(),
      caller: caller.name,
      key: messageId,
      fingerprint: createHash('sha256').update(text).digest('hex'),
      message: message.raw,
      // As text: parsing and rewriting would change it.
      dispatch: { type: CONTROL_DECISION, payload_text: text },
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    const { task, created } = await accepted.catch((thrown: unknown) => {
      throw nameConflict(thrown, messageId);
    });
    const fields = fieldsOf(task);
    log.info(fields, created ? 'decision accepted' : 'decision is already known: its task answers');
    // Read again: the record of a copy may predate the decision.
    const { state } = ledger.get(task.id) ?? task;
    if (!isTerminal(state) && !underWay.has(task.id)) {
      const work = decideAndPersist(task, caller)
        .catch((error: unknown) => log.error({ ...fields, err: error }, 'decision left to the next start'))
        .finally(() => underWay.delete(task.id));
      underWay.set(task.id, work);
    }
    if (!created) await auditCopy(task, attemptOf({ text, caller, traceparent }));
    return { kind: 'task', taskId: task.id };
  }

  /** A copy of a message is audited as an attempt too, once the first has a response. */
  async function auditCopy({ id }: TaskRecord, attempt: Attempt): Promise<void> {
    await underWay.get(id);
    const first = responseIn(ledger.get(id)?.result);
    if (first === undefined) return;
    const { response } = await decisions.copied(attempt, first);
    // Any other response means that the copy could not be audited.
    if (!isDeepStrictEqual(response, duplicateAnswer(first)))
      throw new FleetError('STORE_UNAVAILABLE', 'this copy could not be audited; send it again');
  }

  /** Waits out the rate limit if the wait ends by `until`. */
  async function decide(task: TaskRecord, caller: Caller, until: number): Promise<ControlEnding> {
    const { payload_text: text } = task.dispatch;
    try {
      if (typeof text !== 'string') throw new Error(`task ${task.id} has no payload_text`);
      for (;;) {
        const { response, retryAfterS } = await decisions.decide(
          attemptOf({ text, caller, traceparent: task.traceparent }),
        );
        const waitMs = (retryAfterS ?? 0) * 1000;
        if (waitMs === 0 || closing.signal.aborted || clock.now() + waitMs > until)
          return endingOf(task.key, response, retryAfterS);
        await clock.sleep(waitMs, closing.signal).catch(() => undefined);
      }
    } catch (thrown) {
      // `decide` promises not to throw: this is a defect, and the task must still end.
      log.error({ ...fieldsOf(task), err: thrown }, 'a decision failed unexpectedly');
      return brokenEnding(task.key, FleetError.from(thrown));
    }
  }

  const end = (task: TaskRecord, { event, result }: ControlEnding) =>
    ledger.append(task.id, event, { result });

  /** Retries the write of the ending until the ledger is writable or the transport closes. */
  async function decideAndPersist(task: TaskRecord, caller: Caller): Promise<void> {
    const ending = await decide(task, caller, 0);
    for (let failures = 1; ; failures += 1) {
      try {
        await end(task, ending);
        return;
      } catch (error) {
        const isTransient = error instanceof FleetError && error.code === 'STORE_UNAVAILABLE';
        if (!isTransient || closing.signal.aborted) throw error;
        log.warn({ ...fieldsOf(task), err: error, failures }, 'ledger not writable: retrying');
        await clock.sleep(backoffMs(failures, PAUSE), closing.signal).catch(() => undefined);
      }
    }
  }

  return {
    accept,
    async cancel(taskId, caller) {
      const task = ledger.get(taskId);
      if (task?.caller !== caller.name || task.dispatch.type !== CONTROL_DECISION)
        return gateway.cancel(taskId, caller);
      throw new FleetError('TASK_NOT_CANCELABLE', 'a decision cannot be canceled; send another decision');
    },
    async recover() {
      const until = clock.now() + RECOVER_MS;
      for (const task of ledger.unfinished()) {
        if (task.dispatch.type !== CONTROL_DECISION) continue;
        log.info(fieldsOf(task), 'decision resumed');
        const ending = await decide(task, options.callerNamed(task.caller), until);
        // An interrupted decision may differ from the one on record: the next start decides again.
        closing.signal.throwIfAborted();
        await end(task, ending);
      }
    },
    async close() {
      closing.abort(
        new FleetError('SHUTTING_DOWN', 'the trader is stopping: send the decision again in a moment', {
          retryAfterS: 5,
        }),
      );
      await Promise.all(underWay.values());
    },
  };
}

function attemptOf({
  traceparent,
  ...of
}: Pick<Attempt, 'text' | 'caller'> & { traceparent: string | undefined }): Attempt {
  return { transport: 'a2a', ...of, ...(traceparent === undefined ? {} : { traceparent }) };
}

/** The ledger's error names the key of a TASK_DISPATCH; this names the A2A field. */
function nameConflict(thrown: unknown, messageId: string): unknown {
  if (!(thrown instanceof FleetError) || thrown.code !== 'TASK_ID_CONFLICT') return thrown;
  const reason = `"${messageId}" was used for another message; use a new one`;
  const fields = [{ path: 'message.messageId', reason }];
  return new FleetError('TASK_ID_CONFLICT', `message.messageId ${reason}`, { fields });
}
