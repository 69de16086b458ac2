import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { silentLog as log, tempDir } from '@hermes-fleet/protocol/testing';
import { fleetDown } from '../src/local/down.ts';
import { type FleetPlan, planFleet } from '../src/local/plan.ts';
import { fleetUp, type UpOptions } from '../src/local/up.ts';

const root = resolve(import.meta.dirname, '../../..');

const GATEWAY = `
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { basename } from 'node:path';
const profile = basename(process.env.HERMES_STATE_DIR);
const port = Number(process.env[profile.toUpperCase() + '_PORT']);
const note = (sign) => process.env.NOTES && appendFileSync(process.env.NOTES, sign + profile + ' ');
if (profile === process.env.BROKEN) { console.error('no config for ' + profile); process.exit(3); }
if (profile === process.env.STUBBORN) process.on('SIGTERM', () => {});
else process.on('SIGTERM', () => { note('-'); process.exit(0); });
const [waiting, awaited] = (process.env.WAITS_FOR ?? '').split('>');
if (profile === waiting) while (!(await fetch('http://127.0.0.1:' + process.env[awaited.toUpperCase() + '_PORT']).catch(() => undefined))) {}
createServer((_, reply) => reply.end(JSON.stringify({ secret: process.env.A2A_HERMES_TOKEN_OPERATOR ?? null }))).listen(port, '127.0.0.1', () => note('+'));
`;

/** A fleet on its own ports, with an entry point that answers like a gateway. */
export function smallFleet(
  t: TestContext,
  firstDown: (plan: FleetPlan) => Promise<unknown> = async () => undefined,
) {
  const down = async (): Promise<unknown> => {
    await firstDown(plan);
    return await fleetDown({ plan, clock, graceMs: 2_000 });
  };
  const dir = tempDir(t, { prefix: 'local-', closeFirst: down });
  const plan = planFleet({ root, dir: join(dir, 'fleet'), portOffset: 1_000 + (process.pid % 3_500) * 6 });
  const entryPoint = join(dir, 'gateway.mjs');
  writeFileSync(entryPoint, GATEWAY);
  const options = { plan, clock, log, entryPoint, readyMs: 20_000 };
  return {
    plan,
    entryPoint,
    up: (env: NodeJS.ProcessEnv = {}, more: Partial<UpOptions> = {}) =>
      fleetUp({ ...options, ...more, env: { ...process.env, ...env } }),
  };
}
