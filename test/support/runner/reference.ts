import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';

/**
 * A fixed piece of work, like that of a test process: objects, JSON, text and hashes. The limits of
 * CPU time hold on a machine where it takes REFERENCE_CPU_S or less; elsewhere, and where other work slows the machine, they are
 * scaled by what it takes there.
 */
export const REFERENCE_CPU_S = 0.54;

function work(): void {
  let kept = 0;
  for (let round = 0; round < 240; round += 1) {
    const rows = Array.from({ length: 2_000 }, (_, at) => ({
      id: `task-${(at * 7_919) % 2_000}`,
      text: `step ${at} of ${round}`,
    }));
    const text = JSON.stringify(rows);
    const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    kept += sorted.filter((row) => /^step (\d+) of \d*5$/.test(row.text)).length;
    kept += createHash('sha256').update(text).digest().length;
  }
  console.log(kept);
}

/** CPU seconds of the work, in a process of its own. */
export async function measureReference(): Promise<number> {
  const child = spawn(process.execPath, [import.meta.filename], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  const [code] = await once(child, 'close');
  const cpuS = Number(printed.split('\n').at(-2));
  if (code !== 0 || !(cpuS > 0)) throw new Error(`the reference work ended with ${code}: ${printed}`);
  return cpuS;
}

if (import.meta.main) {
  work();
  const { user, system } = process.cpuUsage();
  console.log((user + system) / 1_000_000);
}
