import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CTRL_C, DOWN, ENTER, openTerminal } from '../../test/support/terminal.ts';
import { type Cast, writeCast } from './cast.ts';

/**
 * Records `fleet send` in a pseudo-terminal, with the menu of Ctrl-C, at the fleet that runs: send.cast. `make picture` does so and
 * draws send.svg from it.
 */
const at = (name: string): URL => new URL(name, import.meta.url);
const fleet = join(import.meta.dirname, '../../fleet');
const OPTIONS = ['--budget', '40000', '--deadline', '10m'];
/** As long as a person looks before the next key, in milliseconds. */
const LOOK_MS = 900;

const [begun, output] = [performance.now(), [] as [number, string][]];
const cleanUp: (() => unknown)[] = [];
// The words that a shell would show before the command.
output.push([0, `$ ./fleet send "$(cat send.md)" ${OPTIONS.join(' ')}\r\n`]);
const terminal = openTerminal(
  { after: (work) => cleanUp.push(work) },
  [fleet, 'send', readFileSync(at('send.md'), 'utf8'), ...OPTIONS],
  process.env,
  (text) => output.push([Number(((performance.now() - begun) / 1000).toFixed(3)), text]),
);
await terminal.waitFor(/shell_exec/);
await setTimeout(LOOK_MS);
terminal.type(CTRL_C);
await terminal.waitFor(/go on watching/);
for (const key of [DOWN, DOWN, ENTER]) {
  await setTimeout(LOOK_MS);
  terminal.type(key);
}
const code = await terminal.ended;
for (const work of cleanUp) work();
if (code !== 0) throw new Error(`fleet send ended with ${code}:\n${terminal.screen()}`);
const cast: Cast = {
  width: 120,
  height: 40,
  title:
    'fleet send shows a task while it runs, asks at Ctrl-C whether to leave or to cancel it, and prints its result',
  output,
};
writeFileSync(at('send.cast'), writeCast(cast));
