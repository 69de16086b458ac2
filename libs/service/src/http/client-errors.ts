import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { FleetError } from '@hermes-fleet/protocol';
import { errorBody } from './errors.ts';

interface ClientErrorsOptions {
  readonly requestTimeoutMs: number;
  /** Called for what never became a request: nobody else can log or count it. */
  readonly onRefused: (error: FleetError) => void;
}

interface ClientErrors {
  handle(thrown: Error & { code?: string }, socket: Socket): void;
  /** Must be called once, before the server listens. */
  watch(server: Server): void;
}

/**
 * Answers what Node's HTTP parser gives up on: a request that takes too long (408), headers that are too large (431),
 * bytes that are not HTTP (400). A request whose body is being read gets its 408 by its own error handler, in that
 * handler's shape; a connection with a reply under way is closed without another word.
 */
export function createClientErrors(o: ClientErrorsOptions): ClientErrors {
  const latest = new WeakMap<Socket, ServerResponse<IncomingMessage>>();
  return {
    watch(server) {
      server.prependListener('request', (request, response) => latest.set(request.socket, response));
    },
    handle(thrown, socket) {
      if (thrown.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      const error = refusal(thrown.code, o.requestTimeoutMs);
      const response = latest.get(socket);
      const idle = response === undefined || (response.writableFinished && response.req.complete);
      if (!idle && response.headersSent) {
        socket.destroy();
        return;
      }
      if (!idle && response.req.listenerCount('error') > 0) {
        response.setHeader('connection', 'close');
        response.req.emit('error', error);
        return;
      }
      o.onRefused(error);
      const body = JSON.stringify(errorBody(error));
      socket.end(
        `HTTP/1.1 ${error.httpStatus} ${STATUS_CODES[error.httpStatus]}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      socket.destroySoon();
    },
  };
}

function refusal(code: string | undefined, timeoutMs: number): FleetError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new FleetError(
        'REQUEST_TIMEOUT',
        `the request was not complete after ${timeoutMs} ms; send it faster`,
      );
    case 'HPE_HEADER_OVERFLOW':
      return new FleetError('HEADERS_TOO_LARGE', 'the headers are too large; send fewer');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new FleetError('BODY_TOO_LARGE', 'the chunk extensions are too large');
    default:
      return new FleetError('INVALID_REQUEST', 'this is not a valid HTTP request');
  }
}
