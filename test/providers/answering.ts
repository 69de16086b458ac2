import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { refusalOf } from './strict-provider.ts';
import type { RawAnswer, Transcript } from './transcript.ts';
import { ordinaryAnswer } from './turns.ts';

export interface AnsweringServer {
  /** Without a path. */
  readonly url: string;
  /** The JSON of the calls so far. */
  readonly requests: readonly string[];
  /** Faults of calls: those that a strict provider refuses, and calls that the transcript has no answer for. */
  readonly problems: readonly string[];
}

/** A loopback server that gives the answers of a transcript, one to each call. It ends with the test. */
export async function startAnswering(
  t: { after(close: () => void): void },
  { answers, dialect }: Pick<Transcript, 'answers' | 'dialect'>,
): Promise<AnsweringServer> {
  const requests: string[] = [];
  const problems: string[] = [];
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      // What a profile measures its model by.
      response.writeHead(200, JSON_TYPE).end('{"object":"list","data":[]}');
      return;
    }
    const body = await text(request);
    requests.push(body);
    const count = requests.length;
    const answer = answers[count - 1];
    const refusal = refusalOf(dialect, parseJson(body));
    const problem = answer === undefined ? `there is no answer left to ${lastMessage(body)}` : refusal;
    if (problem !== undefined) problems.push(`request ${count}: ${problem}`);
    if (answer === undefined || problem !== undefined)
      response.writeHead(400, JSON_TYPE).end(JSON.stringify({ error: { message: problem } }));
    else if ('status' in answer) await send(answer, response);
    else {
      const step = 'turn' in answer ? answer.turn : answer;
      response.writeHead(200, STREAM_TYPE).end(ordinaryAnswer(step, dialect, count));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: `http://127.0.0.1:${address.port}`, requests, problems };
}

const SHOWN = 400;
const Messages = z.looseObject({ messages: z.array(z.unknown()) });

/** The beginning of the last message, which tells why there was another request. */
const lastMessage = (body: string): string =>
  JSON.stringify(Messages.safeParse(parseJson(body)).data?.messages.at(-1))?.slice(0, SHOWN) ??
  'a request without messages';

const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM_TYPE = { 'content-type': 'text/event-stream' };

async function text(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  return body;
}

async function send(
  { status, headers, body, end, pieceBytes }: RawAnswer,
  response: ServerResponse,
): Promise<void> {
  if (status !== undefined) response.writeHead(status, headers).flushHeaders();
  const bytes = Buffer.from(body);
  const size = pieceBytes ?? Math.max(1, bytes.length);
  for (let at = 0; status !== undefined && at < bytes.length; at += size) {
    await new Promise((sent) => response.write(bytes.subarray(at, at + size), sent));
    await nextTurn();
  }
  if (end === 'cut') response.destroy();
  if (end === 'close') response.end();
}
