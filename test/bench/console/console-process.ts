import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../frame/child.ts';
import { MODELS } from './fill.ts';

const LOGIN = 'bench-login-0123456789';

/** A console on a filled read model, as a process of its own, without a bus. */
export interface ConsoleProcess extends AsyncDisposable {
  /** The time of one request of a signed-in browser, in ms. */
  request(path: string): Promise<number>;
  /** Its resident memory, in MB. */
  memory(): number;
}

export async function startConsoleProcess(options: {
  readonly root: string;
  readonly stateDir: string;
  readonly cacheDir: string;
  readonly port: number;
}): Promise<ConsoleProcess> {
  const { root, stateDir, cacheDir, port } = options;
  const home = writeConfig(root, stateDir);
  const child = startChild({
    command: [process.execPath, join(root, 'services/console/src/main.ts')],
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ...{
        HERMES_HOME: home,
        HERMES_STATE_DIR: stateDir,
        CONSOLE_LOGIN: LOGIN,
        LOG_LEVEL: 'error',
      },
      ...{ CONSOLE_PORT: String(port), NATS_PORT: '1', NODE_COMPILE_CACHE: cacheDir },
      NODE_OPTIONS: '--max-semi-space-size=1',
    },
  });
  const { process: running } = child;
  const url = `http://127.0.0.1:${port}`;
  const cookie = await signIn(url);
  return {
    async request(path) {
      const startedAt = performance.now();
      const response = await fetch(`${url}${path}`, { headers: { cookie } });
      const body = await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${Buffer.from(body)}`);
      return performance.now() - startedAt;
    },
    memory: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${running.pid}/status`, 'utf8'))?.[1]) / 1_000,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** Writes the shipped console.yaml with a price for each model, because money makes the views dearer. Returns its folder. */
function writeConfig(root: string, stateDir: string): string {
  const home = join(stateDir, 'home');
  mkdirSync(join(home, 'console'), { recursive: true });
  const shipped = readFileSync(join(root, 'deploy/console/console.yaml'), 'utf8');
  const prices = MODELS.map((model) => `      ${model}: { input: 3, output: 15 }`).join('\n');
  writeFileSync(
    join(home, 'console/console.yaml'),
    shipped.replace('    models: {}', `    models:\n${prices}`),
  );
  return home;
}

const TRY_MS = 50;
const START_MS = 60_000;

async function signIn(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${LOGIN}` };
  const deadline = performance.now() + START_MS;
  for (;;) {
    const made = await fetch(`${url}/api/codes`, { method: 'POST', headers }).catch(() => undefined);
    if (made?.status === 201) {
      const { path } = (await made.json()) as { path: string };
      const opened = await fetch(`${url}${path}`, { redirect: 'manual' });
      return (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    }
    if (performance.now() > deadline) throw new Error(`the console at ${url} does not start`);
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
  }
}
