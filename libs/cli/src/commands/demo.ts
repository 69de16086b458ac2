import { randomUUID } from 'node:crypto';
import { command } from '../command-line/command.ts';
import { demoUsage } from '../command-specs/processes.ts';
import { runDemo } from '../demo/demo.ts';
import { TRADER } from '../keys/layout.ts';
import { askedFleet, profilesOf } from '../running/running-fleet.ts';

/** `fleet demo`: runs the demo on the fleet that runs. Exit code 1 when a step does not go as expected. */
const demoCommand = command(demoUsage, async ({ values, env, stdout, stderr }) => {
  const fleet = await askedFleet(values, env);
  const shown = fleet.members.map((member) => ({ name: member.name, url: member.shown }));
  const problems = await runDemo({
    profiles: profilesOf(fleet),
    trader: fleet.members.find(({ name }) => name === TRADER),
    shown: [...shown, ...(await fleet.watchers())],
    token: await fleet.token(),
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
