import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { initKeys } from '../keys/init.ts';
import { DEFAULT_SERVICES } from '../keys/layout.ts';
import { readOperatorToken } from '../keys/operator-token.ts';
import { run } from '../run.ts';

/** A request that the stub received. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly body: JsonObject | undefined;
}

export interface Stub {
  /** For `--dir`: holds keys, but no fleet. */
  readonly dir: string;
  readonly url: string;
  readonly token: string;
  readonly asked: ReceivedRequest[];
}

/** A profile with scripted answers by path, and the operator's keys for it. */
export async function profileStub(
  t: TestContext,
  answers: Readonly<Record<string, { status?: number; body: unknown }>>,
): Promise<Stub> {
  const { dir, token: own } = keysFolder(t);
  const asked: ReceivedRequest[] = [];
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    const { method = '' } = request;
    asked.push({ method, path: request.url ?? '', token, body: text === '' ? undefined : JSON.parse(text) });
    const { status = 200, body } = answers[request.url ?? ''] ?? { status: 404, body: {} };
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { dir, url: `http://127.0.0.1:${address.port}`, token: own, asked };
}

/** A folder with the keys of a fleet that does not run, and the operator's token. */
export function keysFolder(t: TestContext): { readonly dir: string; readonly token: string } {
  const dir = tempDir(t, { prefix: 'fleet-cli-' });
  const nats = { storeDir: dir, host: '127.0.0.1', port: 1, syncAlways: false };
  initKeys({ dir: join(dir, 'keys'), services: DEFAULT_SERVICES, nats });
  return { dir, token: readOperatorToken(join(dir, 'keys')) ?? '' };
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the `fleet` command to its end in this process, with `input` on stdin. `more` is added to the environment of this
 * process; an undefined variable is left out.
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
  const code = await run(args, { ...process.env, ...more }, streams);
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
