import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { systemIds } from '@hermes-fleet/protocol/ports';
import type { Transport } from '../../src/control/decision-service.ts';
import { at, type OpenTransports, type Posted, type PostOptions } from './transports.ts';

/** A transport: how to send a decision and where to find the response. */
export interface TestTransport {
  readonly name: string;
  readonly transport: Transport;
  readonly path: string;
  /** The body around a payload text; undefined: without a payload. */
  around(payload: string | undefined): string;
  responseIn(body: JsonObject): unknown;
}

const rpc = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;

const data = (payload: string | undefined): string =>
  `{"type":"CONTROL_DECISION"${payload === undefined ? '' : `,"payload":${payload}`}}`;

/** Finds the output of the TASK_RESULT in a task's artifacts. */
export const outputOf = (task: unknown): unknown => at(task, 'artifacts', 0, 'parts', 0, 'data', 'output');

export const TRANSPORTS: readonly TestTransport[] = [
  {
    name: 'JSON-RPC',
    transport: 'jsonrpc',
    path: '/jsonrpc',
    around: (payload) =>
      payload === undefined
        ? '{"jsonrpc":"2.0","id":1,"method":"apply_control_decision"}'
        : rpc('apply_control_decision', payload),
    responseIn: (body) => body.result,
  },
  {
    name: 'MCP',
    transport: 'mcp',
    path: '/mcp',
    around: (payload) =>
      rpc(
        'tools/call',
        `{"name":"apply_control_decision"${payload === undefined ? '' : `,"arguments":${payload}`}}`,
      ),
    responseIn: (body) => at(body, 'result', 'structuredContent'),
  },
  {
    name: 'A2A',
    transport: 'a2a',
    path: '/jsonrpc',
    around: (payload) =>
      rpc(
        'SendMessage',
        `{"message":{"messageId":"${systemIds.uuid()}","role":"ROLE_USER","parts":[{"data":${data(payload)}}]}}`,
      ),
    responseIn: (body) => outputOf(at(body, 'result', 'task')),
  },
  {
    name: 'A2A 0.3',
    transport: 'a2a',
    path: '/jsonrpc',
    around: (payload) =>
      rpc(
        'message/send',
        `{"message":{"kind":"message","messageId":"${systemIds.uuid()}","role":"user","parts":[{"kind":"data","data":${data(payload)}}]}}`,
      ),
    responseIn: (body) => outputOf(body.result),
  },
];

export interface Answered extends Posted {
  readonly response: unknown;
}

/** Sends a payload through a transport. */
export async function sendThrough(
  transports: OpenTransports,
  transport: TestTransport,
  payload: string | undefined,
  o: PostOptions = {},
): Promise<Answered> {
  const posted = await transports.post(transport.path, transport.around(payload), o);
  return { ...posted, response: transport.responseIn(posted.body) };
}

export const statusOf = (response: unknown): unknown =>
  isJsonObject(response) ? response.status : undefined;
