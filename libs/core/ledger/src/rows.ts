import { isJsonObject, type JsonObject, TASK_STATES, type TaskState } from '@hermes-fleet/protocol';
import type { TokenEntry } from '@hermes-fleet/protocol/ports';
import { integer, json, oneOf, type Row, text } from '@hermes-fleet/store';
import type { PeerRecord, Question, TaskEvent, TaskRecord } from './types.ts';

export const KINDS: Readonly<Record<TokenEntry['kind'], true>> = { own: true, delegated: true };
const SOURCES: Readonly<Record<TokenEntry['source'], true>> = {
  metered: true,
  estimated: true,
  reported: true,
};

export function taskState(row: Row): TaskState {
  return oneOf(row, 'state', TASK_STATES);
}

export function taskRecord(row: Row): TaskRecord {
  const message = json(row, 'message');
  return {
    id: text(row, 'id'),
    contextId: text(row, 'context_id'),
    caller: text(row, 'caller'),
    key: text(row, 'key'),
    state: taskState(row),
    message,
    dispatch: dispatchOf(row, message),
    result: row.result === null ? undefined : json(row, 'result'),
    resumes: integer(row, 'resumes'),
    createdAt: integer(row, 'created_at'),
    updatedAt: integer(row, 'updated_at'),
    lastSeq: integer(row, 'last_seq'),
    ...(row.traceparent === null ? {} : { traceparent: text(row, 'traceparent') }),
    ...(row.lineage === null ? {} : { lineage: json(row, 'lineage') }),
  };
}

/** The dispatch of a task: a data part of its message, or stored by itself. */
export function dispatchOf(row: Row, { parts }: JsonObject): JsonObject {
  const part =
    Array.isArray(parts) && row.dispatch === null ? parts[integer(row, 'dispatch_part')] : undefined;
  const data = isJsonObject(part) ? part.data : undefined;
  return isJsonObject(data) ? data : json(row, 'dispatch');
}

export function taskEvent(row: Row): TaskEvent {
  return {
    seq: integer(row, 'seq'),
    taskId: text(row, 'task_id'),
    type: text(row, 'type'),
    at: integer(row, 'at'),
    data: json(row, 'data'),
  };
}

export function questionRow(row: Row): Question {
  return {
    key: text(row, 'key'),
    seq: integer(row, 'seq'),
    askedAt: integer(row, 'asked_at'),
    text: text(row, 'question'),
    answer:
      row.message_id === null
        ? undefined
        : { messageId: text(row, 'message_id'), text: text(row, 'answer'), message: json(row, 'message') },
    ...(row.withdrawn_at === null ? {} : { withdrawnAt: integer(row, 'withdrawn_at') }),
  };
}

export function tokenEntry(row: Row): TokenEntry {
  return {
    kind: oneOf(row, 'kind', KINDS),
    inputTokens: integer(row, 'input_tokens'),
    outputTokens: integer(row, 'output_tokens'),
    cacheReadTokens: integer(row, 'cache_read_tokens'),
    cacheWriteTokens: integer(row, 'cache_write_tokens'),
    ...(row.reasoning_tokens === 0 ? {} : { reasoningTokens: integer(row, 'reasoning_tokens') }),
    source: integer(row, 'settled') === 0 ? 'estimated' : oneOf(row, 'source', SOURCES),
    model: text(row, 'model'),
  };
}

export function peerRecord(row: Row): PeerRecord {
  return {
    agentId: text(row, 'agent_id'),
    announce: json(row, 'announce'),
    receivedAt: integer(row, 'received_at'),
    ...(row.caller === null ? {} : { caller: text(row, 'caller') }),
  };
}
