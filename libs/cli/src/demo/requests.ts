import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { firstFlightRequest } from '../flight/first-flight.ts';

const BRIEF = [
  'Write a note and read it back.',
  '',
  '```note.txt',
  'A plain message, no contract.',
  '```',
  '',
  '```sh',
  'cat note.txt',
  '```',
].join('\n');

/** A message of text alone, as any A2A client sends it; `contextId` goes on in a context. */
export function textRequest(id: string, text: string = BRIEF, contextId?: string): JsonObject {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: {
      message: {
        messageId: id,
        role: 'ROLE_USER',
        ...(contextId === undefined ? {} : { contextId }),
        parts: [{ text }],
      },
    },
  };
}

/** The first flight with a budget that no executor can start on: every worker that is asked refuses it. */
export function poorRequest(id: string): JsonObject {
  const request = firstFlightRequest({ id });
  const set = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(set);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, key === 'token_budget' ? 1 : set(item ?? null)]),
    );
  };
  const poor = set(request);
  return isJsonObject(poor) ? poor : request;
}
