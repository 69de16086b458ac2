import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { readMembers, servicesOf } from '../src/folder/members.ts';
import { initKeys } from '../src/keys/init.ts';
import { readOperatorToken } from '../src/keys/layout.ts';
import { run } from '../src/run.ts';

const SHIPPED = join(import.meta.dirname, '../../../deploy');

/** A request that the stub received. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly body: JsonObject | undefined;
  /** The body as it was sent. */
  readonly text: string;
}

export interface Stub {
  /** For `--dir`: holds keys, but no fleet. */
  readonly dir: string;
  readonly url: string;
  readonly token: string;
  readonly asked: ReceivedRequest[];
}

/** Scripted answers by path, or by the method of a JSON-RPC call; a text is sent as it is, everything else as JSON. */
export type Answers = Readonly<
  Record<string, { status?: number; headers?: Record<string, string>; body?: unknown }>
>;

/** A profile with scripted answers, and the operator's keys for it. */
export async function profileStub(t: TestContext, answers: Answers): Promise<Stub> {
  const asked: ReceivedRequest[] = [];
  const url = await serveAnswers(t, answers, (request) => asked.push(request));
  return { ...keysFolder(t), url, asked };
}

/** Serves the answers on a free port until the test ends, tells `note` of every request, and resolves with the URL. */
export async function serveAnswers(
  t: TestContext,
  answers: Answers,
  note: (request: ReceivedRequest) => void,
): Promise<string> {
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { method = '', url: path = '' } = request;
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    const sent: JsonObject | undefined = text === '' ? undefined : JSON.parse(text);
    note({ method, path, token, body: sent, text });
    const {
      status = 200,
      headers,
      body,
    } = answers[path] ?? answers[String(sent?.method)] ?? { status: 404, body: {} };
    reply.writeHead(status, { 'content-type': 'application/json', ...headers });
    reply.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

/** A folder with the keys of a fleet that does not run, and the operator's token. */
export function keysFolder(t: TestContext): { readonly dir: string; readonly token: string } {
  const dir = tempDir(t, { prefix: 'fleet-cli-' });
  const nats = { storeDir: dir, host: '127.0.0.1', port: 1, syncAlways: false };
  initKeys({ dir: join(dir, 'keys'), services: servicesOf(readMembers(SHIPPED)), nats });
  return { dir, token: readOperatorToken(join(dir, 'keys')) ?? '' };
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the `fleet` command to its end in this process, with `input` on stdin, for a fleet of processes. `more` is added to the
 * environment of this process; an undefined variable is left out.
 */
export async function fleet(
  args: readonly string[],
  input = '',
  more: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const [stdout, stderr] = [collector(), collector()];
  const streams = {
    stdin: () => Readable.from([Buffer.from(input)]),
    stdout: stdout.stream,
    stderr: stderr.stream,
  };
  const code = await run(args, { ...process.env, FLEET_MODE: 'process', ...more }, streams);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
