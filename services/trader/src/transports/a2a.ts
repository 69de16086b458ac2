import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isTerminal, type Ledger, type TaskRecord } from '@hermes-fleet/ledger';
import {
  type Accepted,
  backoffMs,
  type Caller,
  type Clock,
  FleetError,
  type Ids,
  type InboundMessage,
  type Intake,
  type Log,
} from '@hermes-fleet/protocol';
import { requireScope } from '@hermes-fleet/service';
import { DECIDE } from '../control/access.ts';
import type { Attempt } from '../control/attempt.ts';
import type { DecisionService } from '../control/decision-service.ts';
import { copyOf } from '../control/judge.ts';
import { brokenEnding, type ControlEnding, endingOf, responseIn } from './control-ending.ts';
import { CONTROL_DECISION, controlParts, payloadText, saidIn, wrongPart } from './control-part.ts';
import { codeOf } from './refusals.ts';

export interface ControlIntakeOptions {
  readonly desk: DecisionService;
  readonly ledger: Pick<Ledger, 'accept' | 'append' | 'get' | 'unfinished'>;
  /** Takes every other message. */
  readonly gateway: Intake;
  /** A caller with the scopes that it has now; for tasks that outlived a restart. */
  readonly callerNamed: (name: string) => Caller;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** The A2A door: a CONTROL_DECISION becomes a task, everything else is the gateway's (design 4, Three doors). */
export interface ControlIntake extends Intake {
  /**
   * Decides again what a former process accepted and did not end: idempotent by `decision_id`. To be called before the
   * gateway's own, which knows nothing of such tasks. Rejects where the ledger takes nothing, and once this is closed.
   */
  recover(): Promise<void>;
  /** Takes no more decisions; resolves when none is under way. What could not be written is left to the next start. */
  close(): Promise<void>;
}

/** How long a start waits for the rate, which begins anew with it, to let through what was let through before. */
const RECOVER_MS = 30_000;
const PAUSE = { firstMs: 100, longestMs: 5_000, random: Math.random };

export function createControlIntake(o: ControlIntakeOptions): ControlIntake {
  const { desk, ledger, gateway, clock, log } = o;
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
        throw wrongPart('is the only data of its message; send a message for each');
      if (message.taskId !== undefined) throw wrongPart('is a task of its own; send it without a task id');
      return await acceptDecision(payloadText(part), message, caller);
    } catch (thrown) {
      const error = FleetError.from(thrown);
      for (const text of parts.map(saidIn)) {
        const { traceparent } = message;
        await desk.refuse(attemptOf({ text, caller, traceparent }), codeOf(error), error.message);
      }
      throw thrown;
    }
  }

  async function acceptDecision(text: string, message: InboundMessage, caller: Caller): Promise<Accepted> {
    const { messageId, traceparent } = message;
    const accepted = ledger.accept({
      id: o.ids.uuid(),
      contextId: message.contextId ?? o.ids.uuid(),
      caller: caller.name,
      key: messageId,
      fingerprint: createHash('sha256').update(text).digest('hex'),
      message: message.raw,
      // As text: what is parsed and written again is not what was sent.
      dispatch: { type: CONTROL_DECISION, payload_text: text },
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    const { task, created } = await accepted.catch((thrown: unknown) => {
      throw nameConflict(thrown, messageId);
    });
    const fields = { task_id: task.id, context_id: task.contextId, caller: caller.name };
    log.info(fields, created ? 'decision accepted' : 'decision is known already: the same task answers');
    // Read again: a copy may hold a record from before the first one was decided.
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

  /** A copy of a message is an attempt too. What came of the first is its answer, once there is one. */
  async function auditCopy({ id }: TaskRecord, attempt: Attempt): Promise<void> {
    await underWay.get(id);
    const first = responseIn(ledger.get(id)?.result);
    if (first === undefined) return;
    const { response } = await desk.copied(attempt, first);
    // The desk says anything else than what came of the first only where it could not write it down.
    if (!isDeepStrictEqual(response, copyOf(first)))
      throw new FleetError('STORE_UNAVAILABLE', 'this copy could not be audited; send it again');
  }

  /** What comes too fast waits as long as that is over by `until`. */
  async function decide(task: TaskRecord, caller: Caller, until: number): Promise<ControlEnding> {
    const { payload_text: text } = task.dispatch;
    try {
      if (typeof text !== 'string') throw new Error(`task ${task.id} has no payload_text`);
      for (;;) {
        const { response, retryAfterS } = await desk.decide(
          attemptOf({ text, caller, traceparent: task.traceparent }),
        );
        const waitMs = (retryAfterS ?? 0) * 1000;
        if (waitMs === 0 || closing.signal.aborted || clock.now() + waitMs > until)
          return endingOf(task.key, response, retryAfterS);
        await clock.sleep(waitMs, closing.signal).catch(() => undefined);
      }
    } catch (thrown) {
      // The desk promises not to throw: this is a defect, and its task must not hang.
      log.error({ task_id: task.id, err: thrown }, 'decision broke');
      return brokenEnding(task.key, FleetError.from(thrown));
    }
  }

  const end = (task: TaskRecord, { event, result }: ControlEnding) =>
    ledger.append(task.id, event, { result });

  /** Writes what was decided again and again while the ledger takes nothing, until it does or this door closes. */
  async function decideAndPersist(task: TaskRecord, caller: Caller): Promise<void> {
    const ending = await decide(task, caller, 0);
    for (let failures = 1; ; failures += 1) {
      try {
        await end(task, ending);
        return;
      } catch (error) {
        const isTransient = error instanceof FleetError && error.code === 'STORE_UNAVAILABLE';
        if (!isTransient || closing.signal.aborted) throw error;
        log.warn({ task_id: task.id, err: error, failures }, 'ledger not writable: trying again');
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
      throw new FleetError('TASK_NOT_CANCELABLE', 'a decision cannot be taken back; send another one');
    },
    async recover() {
      const until = clock.now() + RECOVER_MS;
      for (const task of ledger.unfinished()) {
        if (task.dispatch.type !== CONTROL_DECISION) continue;
        log.info({ task_id: task.id, caller: task.caller }, 'decision taken up again');
        const ending = await decide(task, o.callerNamed(task.caller), until);
        // Cut short, it may not be what was decided: the next start asks again.
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
  return { door: 'a2a', ...of, ...(traceparent === undefined ? {} : { traceparent }) };
}

/** The ledger names a conflict by what a TASK_DISPATCH calls its key. */
function nameConflict(thrown: unknown, messageId: string): unknown {
  if (!(thrown instanceof FleetError) || thrown.code !== 'TASK_ID_CONFLICT') return thrown;
  const reason = `"${messageId}" was used for another message; use a new one`;
  const fields = [{ path: 'message.messageId', reason }];
  return new FleetError('TASK_ID_CONFLICT', `message.messageId ${reason}`, { fields });
}
