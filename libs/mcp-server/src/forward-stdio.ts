import { PassThrough, type Readable, type Writable } from 'node:stream';
import { type Clock, FleetError, isJsonObject } from '@hermes-fleet/protocol';
import type { JSONRPCErrorResponse, JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { isOf2025 } from './revision-2025.ts';
import { oneLine, refusalOf } from './undelivered.ts';

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
  const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
  // The SDK's transport drops open requests when its input ends, so it gets one that does not.
  const endless = new PassThrough();
  const stdio = new StdioServerTransport(endless, output);
  const http = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  /** The ids of requests without an answer, and other messages that are not delivered yet. */
  const open = new Set<unknown>();
  /** The requests that the server has not answered. */
  const unanswered = new Map<RequestId, Forwarded>();
  const ended = Promise.withResolvers<void>();
  const idle = Promise.withResolvers<void>();
  let hasEnded = false;
  /** A message was too long: the SDK's transport reads and writes no more. */
  let isBroken = false;
  const onEnd = (): void => {
    hasEnded = true;
    ended.resolve();
  };
  input.once('end', onEnd);
  input.once('close', onEnd);
  stdio.onclose = () => {
    isBroken = true;
    onEnd();
  };
  const close = (key: unknown): void => {
    open.delete(key);
    if (hasEnded && open.size === 0) idle.resolve();
  };
  const answer = async (message: JSONRPCMessage): Promise<void> => {
    const id = 'method' in message ? undefined : message.id;
    if (id !== undefined) unanswered.delete(id);
    try {
      if (isBroken) output.write(`${JSON.stringify(message)}\n`);
      else await stdio.send(message);
    } catch (thrown) {
      onError(String(thrown));
    }
    if (id !== undefined) close(id);
  };
  const refuse = (id: RequestId, error: JSONRPCErrorResponse['error']): void => {
    if (unanswered.has(id)) void answer({ jsonrpc: '2.0', id, error });
  };
  http.onmessage = (message) => {
    const version = 'result' in message ? message.result.protocolVersion : undefined;
    if (typeof version === 'string') http.setProtocolVersion(version);
    void answer(message);
  };
  http.onerror = (error) => onError(oneLine(error.message));
  stdio.onerror = (error) => onError(oneLine(error.message));

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

  stdio.onmessage = async (message) => {
    if ('method' in message && 'id' in message) await forwardRequest(message, message.id);
    else {
      const canceled = canceledBy(message);
      await (canceled === undefined ? forwardNotice(message) : cancel(message, canceled));
    }
  };
  await http.start();
  await stdio.start();
  input.pipe(endless, { end: false });
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
  input.unpipe(endless);
  await http.close();
  await stdio.close();
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
