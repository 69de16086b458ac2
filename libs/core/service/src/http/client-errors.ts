import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { FleetError } from '@hermes-fleet/protocol';
import { errorBody } from './errors.ts';

interface ClientErrorsOptions {
  readonly requestTimeoutMs: number;
  /** Called for bytes that are not a request: nobody else logs or counts them. */
  readonly onRejected: (error: FleetError) => void;
}

/**
 * Responds to the errors of Node's HTTP parser: a slow request (408), too large headers (431), bytes that are not HTTP
 * (400). A request whose body is being read gets its 408 from its own error handler, in that handler's format. A
 * connection with a pending reply is closed.
 */
export function createClientErrors({ requestTimeoutMs, onRejected }: ClientErrorsOptions) {
  let tcpSocket = (socket: Socket): Socket => socket;
  const unhurried = new WeakSet<IncomingMessage>();
  const latest = new WeakMap<Socket, ServerResponse<IncomingMessage>>();
  return {
    /** Must be called once, before the server listens. */
    watch(server: Server, below: (socket: Socket) => Socket): void {
      tcpSocket = below;
      server.prependListener('request', (request, response) => latest.set(request.socket, response));
    },
    /** The body of this request may take as long as its route allows. */
    allowTime: (request: IncomingMessage): void => void unhurried.add(request),
    handle(thrown: Error & { code?: string }, socket: Socket): void {
      const handshake = handshakeError(thrown);
      if (handshake !== undefined) {
        onRejected(handshake);
        // Only the connection below can carry an answer that is not encrypted.
        if (handshake.code === 'TLS_REQUIRED') answerAndClose(tcpSocket(socket), handshake);
        else socket.destroy();
        return;
      }
      if (thrown.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      const response = latest.get(socket);
      if (thrown.code === 'ERR_HTTP_REQUEST_TIMEOUT' && response && unhurried.has(response.req)) return;
      const error = parserError(thrown.code, requestTimeoutMs);
      const isIdle = response === undefined || (response.writableFinished && response.req.complete);
      if (!isIdle && response.headersSent) {
        socket.destroy();
        return;
      }
      if (!isIdle && response.req.listenerCount('error') > 0) {
        response.setHeader('connection', 'close');
        response.req.emit('error', error);
        return;
      }
      onRejected(error);
      answerAndClose(socket, error);
    },
  };
}

function answerAndClose(socket: Socket, error: FleetError): void {
  const body = JSON.stringify(errorBody(error));
  socket.end(
    `HTTP/1.1 ${error.httpStatus} ${STATUS_CODES[error.httpStatus]}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  socket.destroySoon();
}

/** The error of a handshake that failed; undefined for errors after it, and for plain connections. */
function handshakeError({ code = '', message }: Error & { code?: string }): FleetError | undefined {
  if (code === 'ERR_SSL_HTTP_REQUEST')
    return new FleetError('TLS_REQUIRED', 'this port speaks TLS; send the request to its https:// address');
  if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT')
    return new FleetError('REQUEST_TIMEOUT', 'the TLS handshake was not complete in time');
  if (!code.startsWith('ERR_SSL_')) return undefined;
  const alert = /SSL alert number (\d+)/.exec(message)?.[1];
  const why = alert === undefined ? code : `the client refuses this certificate, alert ${alert}`;
  return new FleetError('INVALID_REQUEST', `the TLS handshake failed (${why})`);
}

function parserError(code: string | undefined, timeoutMs: number): FleetError {
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
