import { randomUUID } from 'node:crypto';
import { command } from '../command-line/command.ts';
import { namedAddress } from '../command-line/option-values.ts';
import { membersOf, operatorToken, plannedFleet } from '../command-line/running-fleet.ts';
import { demoUsage } from '../command-specs/processes.ts';
import { runDemo } from '../demo/demo.ts';
import { TRADER } from '../keys/layout.ts';
import { prometheusStatus } from '../local/prometheus.ts';

const NOT_PROFILES = new Set([TRADER, 'prometheus', 'grafana', 'nats']);

/**
 * `fleet demo`: runs the demo on a running fleet. `--address` gives the URLs to print, `--reach` the URLs that this
 * process calls if they differ; without them, the fleet of plain processes in `--dir` is used. Exit code 1 when a step
 * does not go as expected.
 */
const demoCommand = command(demoUsage, async ({ values, stdin, stdout, stderr }) => {
  const plan = plannedFleet(values);
  const given = (values.address ?? []).map((text) => namedAddress('address', text));
  const seen = given.length > 0 ? undefined : await prometheusStatus(plan);
  const own = [...plan.members, ...(seen?.state === 'ready' ? [seen] : [])];
  const shown = given.length > 0 ? given : own.map(({ name, url }) => ({ name, url }));
  const known = membersOf(values, shown);
  const problems = await runDemo({
    profiles: known.filter(({ name }) => !NOT_PROFILES.has(name)),
    trader: known.find(({ name }) => name === TRADER),
    shown,
    token: (await operatorToken(values, plan, stdin)).token,
    id: `demo-${randomUUID().slice(0, 8)}`,
    write: (line) => stdout.write(`${line}\n`),
  });
  if (problems.length === 0) return 0;
  const steps = problems.length === 1 ? 'a step' : `${problems.length} steps`;
  const lines = [`\n${steps} did not go as expected:`, ...problems.map((problem) => `  ${problem}`)];
  stderr.write(`${lines.join('\n')}\n`);
  return 1;
});

export const commands = [demoCommand];
