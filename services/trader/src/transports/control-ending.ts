import { camelize, type FleetError, type JsonObject } from '@hermes-fleet/protocol';
import {
  type ControlResponse,
  ControlResponseWire,
  encodeControlResponse,
} from '@hermes-fleet/protocol/control';
import { bareResult, encodeResult, type TaskResult, type Unmet } from '@hermes-fleet/protocol/handshake';

/** The end of a decision's task: its terminal event and its TASK_RESULT. */
export interface ControlEnding {
  readonly event: { readonly type: 'done' | 'blocked' | 'error'; readonly data: JsonObject };
  readonly result: JsonObject;
}

const EXECUTED_BY = 'trader';

/** Puts the response into the `output` of a TASK_RESULT: applied and noop are done, rejected is blocked, failed is error. */
export function endingOf(taskId: string, response: ControlResponse, retryAfterS?: number): ControlEnding {
  const { status, errors, action, concernId } = response;
  const output = encodeControlResponse(response);
  const why = errors.map(({ code, message }) => `${code}: ${message}`).join('; ') || status;
  const nextSteps = retryAfterS === undefined ? [] : [`send it again in ${Math.ceil(retryAfterS)} s`];
  const common = { ...base(taskId), nextSteps, output };
  switch (status) {
    case 'applied':
    case 'noop': {
      const text = `${status}: ${action ?? 'nothing'} of ${concernId ?? 'nothing'}`;
      return ending({ ...common, status: 'done', text });
    }
    case 'rejected':
      return ending({ ...common, status: 'blocked', blockedReason: why, unmet: errors.map(unmet) });
    case 'failed':
      return ending({
        ...common,
        status: 'error',
        error: { code: errors[0]?.code ?? 'failed', message: why, retryable: true },
      });
  }
}

/** The end of a decision that failed with an unexpected error. */
export function brokenEnding(taskId: string, { code, message, retryable }: FleetError): ControlEnding {
  return ending({
    ...base(taskId),
    status: 'error',
    error: { code: code.toLowerCase(), message, retryable },
  });
}

/** Reads the response from a decision's TASK_RESULT; undefined after an unexpected error. */
export function responseIn(result: JsonObject | undefined): ControlResponse | undefined {
  const { success, data } = ControlResponseWire.safeParse(result?.output);
  return success ? camelize(ControlResponseWire, data) : undefined;
}

const base = (taskId: string) => ({ ...bareResult(taskId), executedBy: EXECUTED_BY });

function unmet({ code, message }: ControlResponse['errors'][number]): Unmet {
  const kind = code === 'forbidden' ? 'scope' : code === 'rate_limited' ? 'capacity' : 'peer';
  return { kind, name: code, detail: message, transient: code === 'rate_limited' };
}

/** The event goes to the bus, so it holds no text of the caller. */
function ending(result: TaskResult & { readonly status: 'done' | 'blocked' | 'error' }): ControlEnding {
  const { status, error } = result;
  const reasons = (result.unmet ?? []).map(({ kind, name }) => ({ kind, name }));
  return {
    event: {
      type: status,
      data: {
        status,
        tokens_spent: 0,
        executed_by: EXECUTED_BY,
        ...(status === 'blocked' ? { reason: reasons[0]?.kind ?? 'peer', unmet: reasons } : {}),
        ...(error ? { error: error.code, retryable: error.retryable } : {}),
      },
    },
    result: encodeResult(result),
  };
}
