import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Prometheus, prometheus } from '../../../test/support/prometheus.ts';

type After = { after(fn: () => Promise<void> | void): void };

const START_MS = 30_000;
export const RULES = join(import.meta.dirname, '../../prometheus/rules');

/** A reason to skip tests without Prometheus, or false. */
export const withoutPrometheus = spawnSync('prometheus', ['--version']).error
  ? 'prometheus is not installed'
  : false;

/** The metrics page of each profile, rendered at every scrape. */
export type Exporters = Readonly<Record<string, () => Promise<string>>>;

/** Starts a real Prometheus on 127.0.0.1 that scrapes these profiles, with the fleet's rules; it stops with the test. */
export async function startPrometheus(t: After, exporters: Exporters): Promise<Prometheus> {
  const target = `127.0.0.1:${await serve(t, exporters)}`;
  const targets = Object.keys(exporters).map((profile) => ({
    targets: [target],
    labels: { profile, __metrics_path__: `/${profile}` },
  }));
  return runPrometheus(t, { intervalMs: 250, rules: RULES, targets });
}

export interface PrometheusRun {
  /** The interval of scrapes and of the evaluation of rules. */
  readonly intervalMs: number;
  /** The folder of the rules. */
  readonly rules: string;
  readonly targets: readonly {
    readonly targets: readonly string[];
    readonly labels: Readonly<Record<string, string>>;
  }[];
}

/** Starts a real Prometheus on 127.0.0.1 with the job `fleet`; it stops with the test. */
export async function runPrometheus(
  t: After,
  { intervalMs, rules, targets }: PrometheusRun,
): Promise<Prometheus> {
  const dir = tempDir(t, { prefix: 'prometheus-' });
  const file = join(dir, 'prometheus.json');
  const interval = `${intervalMs}ms`;
  writeFileSync(
    file,
    JSON.stringify({
      global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
      rule_files: [join(rules, '*.rules.yml')],
      scrape_configs: [{ job_name: 'fleet', honor_labels: true, static_configs: targets }],
    }),
  );
  const port = await freePort();
  const child = spawn(
    'prometheus',
    [
      ...[`--config.file=${file}`, `--storage.tsdb.path=${join(dir, 'data')}`],
      ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr = `${stderr}${chunk}`.slice(-4_000);
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const url = `http://127.0.0.1:${port}`;
  const giveUpAt = Date.now() + START_MS;
  while (!(await isReady(url))) {
    if (child.exitCode !== null || Date.now() > giveUpAt)
      throw new Error(`Prometheus did not start: ${stderr}`);
    await sleep(50);
  }
  return prometheus(url);
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(2_000) }).then(
    async (reply) => {
      await reply.body?.cancel();
      return reply.ok;
    },
    () => false,
  );

/** Serves each profile's metrics at `/<profile>`. Resolves with the port. */
async function serve(t: After, exporters: Exporters): Promise<number> {
  const server = createHttpServer((request, reply) => {
    const exported = exporters[request.url?.slice(1) ?? '']?.();
    if (!exported) return void reply.writeHead(404).end();
    exported.then(
      (text) => reply.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text),
      (error: unknown) => reply.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return portOf(server.address());
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  server.close();
  await once(server, 'close');
  return port;
}

function portOf(address: ReturnType<ReturnType<typeof createServer>['address']>): number {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
