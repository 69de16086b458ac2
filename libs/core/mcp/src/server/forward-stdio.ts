import type { Readable, Writable } from 'node:stream';
import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { JSONRPCErrorResponse, JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { oneLine } from '../content.ts';
import { isOf2025 } from './revision-2025.ts';

/** How long answers are awaited after the end of the input. Clients kill a server that takes long to end. */
const ANSWERS_MS = 5_000;

const NO_HEADERS = new Headers();

/** A request that the server has. */
interface Forwarded {
  readonly isOf2025: boolean;
  /** Closes its stream. */
  readonly cancel: AbortController;
}

export interface ForwardStdioOptions {
  /** The MCP server, with its path. */
  readonly url: string;
  readonly token: string;
  readonly input: Readable;
  readonly output: Writable;
  readonly clock: Clock;
  /** Follows no redirect (`createClient`). */
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** Told about a message that could not be delivered, and about what has no answer at the end. */
  readonly onError: (message: string) => void;
}

/**
 * Serves MCP over stdio by forwarding every message to a server over Streamable HTTP, and its answers back. A request
 * that cannot be delivered, or whose connection is lost, is answered with an error. When the input has ended, requests that
 * are open get their answers for `ANSWERS_MS` more; then the connections of others are closed. Resolves then: false if
 * anything stayed open, or if a message was too long to be read.
 */
export async function forwardStdio(options: ForwardStdioOptions): Promise<boolean> {
  const { url, token, input, output, clock, onError } = options;
  // Services, which do not forward, do not load the SDK's client.
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { MessageBuffer } = await import('../message-buffer.ts');
  const messages = new MessageBuffer();
  const http = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    fetch: options.fetch,
  });
  /** The ids of requests without an answer, and other messages that are not delivered yet. */
  const open = new Set<unknown>();
  /** The requests that the server has not answered. */
  const unanswered = new Map<RequestId, Forwarded>();
  const ended = Promise.withResolvers<void>();
  const idle = Promise.withResolvers<void>();
  let hasEnded = false;
  /** A message was too long, so the beginning of the next one is not known. */
  let isBroken = false;
  const onEnd = (): void => {
    hasEnded = true;
    ended.resolve();
  };
  input.once('end', onEnd);
  input.once('close', onEnd);
  const onOutputError = (error: Error): void => {
    onError(oneLine(error.message));
    onEnd();
  };
  output.on('error', onOutputError);
  const print = (message: object): void => {
    // A reader that does not read its answers can send no more.
    if (output.writable && !output.write(`${JSON.stringify(message)}\n`)) {
      input.pause();
      output.once('drain', () => !hasEnded && input.resume());
    }
  };
  const close = (key: unknown): void => {
    open.delete(key);
    if (hasEnded && open.size === 0) idle.resolve();
  };
  const answer = (message: JSONRPCMessage): void => {
    const id = 'method' in message ? undefined : message.id;
    if (id !== undefined) unanswered.delete(id);
    print(message);
    if (id !== undefined) close(id);
  };
  const refuse = (id: RequestId, error: JSONRPCErrorResponse['error']): void => {
    if (unanswered.has(id)) answer({ jsonrpc: '2.0', id, error });
  };
  http.onmessage = (message) => {
    const version = 'result' in message ? message.result.protocolVersion : undefined;
    if (typeof version === 'string') http.setProtocolVersion(version);
    answer(message);
  };
  http.onerror = (error) => onError(oneLine(error.message));

  async function forwardRequest(message: JSONRPCMessage, id: RequestId): Promise<void> {
    const forwarded = {
      cancel: new AbortController(),
      isOf2025: isJsonObject(message) && isOf2025(message, NO_HEADERS),
    };
    open.add(id);
    unanswered.set(id, forwarded);
    const lost = new FleetError(
      'PEER_UNREACHABLE',
      `${url} gave no answer; fleet_tasks says what became of tasks`,
    );
    try {
      await http.send(message, {
        requestSignal: forwarded.cancel.signal,
        onRequestStreamEnd: () => refuse(id, refusalOf(lost, url)),
      });
    } catch (thrown) {
      refuse(id, refusalOf(thrown, url));
    }
  }

  async function forwardNotice(message: JSONRPCMessage): Promise<void> {
    open.add(message);
    try {
      await http.send(message);
    } catch {
      // The transport has reported it.
    }
    close(message);
  }

  /** Cancels a request in the way of its revision. It need not be answered then. */
  async function cancel(message: JSONRPCMessage, id: RequestId): Promise<void> {
    const forwarded = unanswered.get(id);
    unanswered.delete(id);
    if (forwarded && !forwarded.isOf2025) forwarded.cancel.abort();
    else await forwardNotice(message);
    close(id);
  }

  const forward = async (message: JSONRPCMessage): Promise<void> => {
    if ('method' in message && 'id' in message) await forwardRequest(message, message.id);
    else {
      const canceled = canceledBy(message);
      await (canceled === undefined ? forwardNotice(message) : cancel(message, canceled));
    }
  };
  /** Forwards the message of a line. A line that is no message is answered with an error. */
  function forwardLine(line: () => JSONRPCMessage | null): boolean {
    try {
      const message = line();
      if (message) void forward(message);
      return message !== null;
    } catch (thrown) {
      const isJson = !(thrown instanceof SyntaxError);
      const error = isJson
        ? { code: -32600, message: 'not a message of JSON-RPC 2.0' }
        : { code: -32700, message: 'not JSON' };
      onError(`a line of the input is ${error.message}`);
      print({ jsonrpc: '2.0', id: null, error });
      return true;
    }
  }

  function read(chunk: Buffer): void {
    if (isBroken) return;
    try {
      messages.append(chunk);
    } catch (thrown) {
      isBroken = true;
      onError(String(thrown));
      onEnd();
      return;
    }
    while (forwardLine(() => messages.readMessage()));
  }

  await http.start();
  input.on('data', read);
  await ended.promise;
  if (open.size > 0) {
    const waited = new AbortController();
    await Promise.race([idle.promise, clock.sleep(ANSWERS_MS, waited.signal)]);
    waited.abort();
  }
  const left = open.size;
  const isComplete = left === 0 && !isBroken;
  const tasks = [...unanswered.values()].every((each) => each.isOf2025)
    ? 'go on'
    : 'of fleet_dispatch are canceled';
  // An open request is left: it neither gets an answer nor is an error any more.
  open.clear();
  unanswered.clear();
  http.onerror = () => undefined;
  // An input that its writer keeps open would keep the process alive.
  input.off('data', read).pause();
  output.off('error', onOutputError).on('error', () => undefined);
  await http.close();
  if (left > 0)
    onError(
      `no answer within ${ANSWERS_MS / 1000} s of the end of the input (open: ${left}); tasks ${tasks}`,
    );
  return isComplete;
}

/** The request that a message cancels. */
function canceledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  const id = message.params?.requestId;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** The maximum length of an error that is passed on, as JSON. */
const MAX_ERROR = 10_000;

/** Why a request could not be delivered to `url`: in the words of the server where it answered, else that it did not. */
function refusalOf(thrown: unknown, url: string): JSONRPCErrorResponse['error'] {
  const { status, text } = replyIn(thrown);
  if (status !== undefined && status !== 401) {
    const error = errorIn(text);
    if (error) return error;
  }
  const { jsonrpcCode, message, code } = asFleetError(thrown, status, url);
  return { code: jsonrpcCode, message, data: { reason: code } };
}

/** The status and the body of an HTTP reply that the SDK's transport threw. */
function replyIn(thrown: unknown): { readonly status?: number; readonly text?: unknown } {
  if (!(thrown instanceof Error) || !('data' in thrown) || !isJsonObject(thrown.data)) return {};
  const { status, text } = thrown.data;
  return typeof status === 'number' ? { status, text } : {};
}

/** The error of a JSON-RPC error response. */
function errorIn(text: unknown): JSONRPCErrorResponse['error'] | undefined {
  if (typeof text !== 'string' || text.length > MAX_ERROR || !text.startsWith('{')) return undefined;
  const body = parseJson(text);
  const error: JsonObject = isJsonObject(body) && isJsonObject(body.error) ? body.error : {};
  const { code, message, data } = error;
  if (typeof code !== 'number' || typeof message !== 'string') return undefined;
  return { code, message, ...(data !== undefined && { data }) };
}

function asFleetError(thrown: unknown, status: number | undefined, url: string): FleetError {
  if (thrown instanceof FleetError) return thrown;
  const options = { cause: thrown };
  if (status === 401)
    return new FleetError('UNAUTHENTICATED', `${url} does not accept the token; check whose it is`, options);
  if (status !== undefined)
    return new FleetError(
      'PEER_REFUSED',
      `${url} answered HTTP ${status}: ${oneLine(String(thrown))}`,
      options,
    );
  return new FleetError(
    'PEER_UNREACHABLE',
    `${url} does not answer; start the fleet, and try again`,
    options,
  );
}
